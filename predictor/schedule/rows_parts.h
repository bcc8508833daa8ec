/* Records the steps of groups by rows with partition buffers ("rows4:bricks"), so that plan/parts.c
 * can make a part of each step. Called by predictor/planning/lay.c. */
#ifndef MAFAT_PREDICTOR_ROWS_PARTS_H
#define MAFAT_PREDICTOR_ROWS_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Appends the steps of all groups by rows with partition buffers to *recorded. Call after the
 * plan's order is found and before mafat_parts_find. The list is in the plan's heap. The caller
 * frees it, even after MAFAT_ENOMEM. */
int mafat_rows_parts_walk(struct mafat_recorded_parts *recorded, const struct mafat_plan *plan,
                          const struct mafat_network *n);

#endif
