/* The work of moving elements, as rearrange and split do. */
#ifndef MAFAT_PREDICTOR_KINDS_REARRANGE_H
#define MAFAT_PREDICTOR_KINDS_REARRANGE_H

#include "network/rearrange.h"
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

/* Of `times` as many elements as the step puts out. Pixels that are moved whole cost as a map that is copied; others are
 * picked element by element. */
void mafat_count_rearranged(struct mafat_counting *c, const struct mafat_rearrange *r, double times);

#endif
