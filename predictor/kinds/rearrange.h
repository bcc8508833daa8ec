/* Counts the work of copying elements, for kinds rearrange and split. Called by split.c. */
#ifndef MAFAT_PREDICTOR_KINDS_REARRANGE_H
#define MAFAT_PREDICTOR_KINDS_REARRANGE_H

#include "network/rearrange.h"
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

/* Counts `times` the step's output elements. Pixels copied whole cost as much as a copied map;
 * others are gathered element by element. */
void mafat_count_rearranged(struct mafat_counting *c, const struct mafat_rearrange *r,
                            double times);

#endif
