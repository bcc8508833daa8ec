/* The steps of groups of rows in partition buffers, which become their parts. */
#ifndef MAFAT_PREDICTOR_ROWS_PARTS_H
#define MAFAT_PREDICTOR_ROWS_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* After the order, before parts. The list lies in the plan's heap. MAFAT_ENOMEM. */
int mafat_rows_parts_walk(struct mafat_walked *walked, const struct mafat_plan *plan, const struct mafat_network *n);

#endif
