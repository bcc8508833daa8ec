/* Counts the work of copying elements, for the kinds rearrange and split. Called by rearrange.c and
 * split.c. Changes only the counts. */
#ifndef MAFAT_PREDICTOR_KINDS_REARRANGE_H
#define MAFAT_PREDICTOR_KINDS_REARRANGE_H

#include "network/rearrange.h"
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

/* Counts the work of copying the step's output `times` times. Elements in long runs of channels
 * cost as much as those of a copied map; other elements are gathered one by one. */
void mafat_count_rearranged(struct mafat_counting *c, const struct mafat_rearrange *r,
                            double times);

#endif
