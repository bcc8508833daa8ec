/* Records the steps of groups of rows with partition buffers. They become parts of the plan
 * (plan/parts.h). Called by predictor/planning/lay.c. */
#ifndef MAFAT_PREDICTOR_ROWS_PARTS_H
#define MAFAT_PREDICTOR_ROWS_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Call after the order is found, before parts. Allocates from the plan's heap. MAFAT_ENOMEM. */
int mafat_rows_parts_walk(struct mafat_recorded_parts *recorded, const struct mafat_plan *plan,
                          const struct mafat_network *n);

#endif
