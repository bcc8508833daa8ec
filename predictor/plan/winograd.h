/* Winograd convolutions: which layers can use them, for which they are expected to be faster, and
 * the tile sizes of each algorithm. Called by predictor/, search/best/costs.c and
 * runner/engine/kinds. Touches only its arguments. */
#ifndef MAFAT_PREDICTOR_PLAN_WINOGRAD_H
#define MAFAT_PREDICTOR_PLAN_WINOGRAD_H

#include "base/winograd.h"
#include "network/network.h"
#include "predictor/plan/plan.h"

/* True for a 3x3 convolution of stride 1 without groups that sums floats. */
bool mafat_winograd_applies(const struct mafat_layer *l);
/* Returns the algorithm that is expected to be fastest; MAFAT_AUTO stands for it. The result
 * depends on the layer's shape alone, so it is the same on every machine. */
enum mafat_algorithm mafat_winograd_fastest(const struct mafat_layer *l);

/* Returns the tile sizes of an algorithm; NULL for MAFAT_DIRECT. */
const struct mafat_winograd *mafat_winograd_of(enum mafat_algorithm algorithm);

/* Returns the Winograd tile sizes of the innermost layer in the steps of `layer`, which is found by
 * mafat_plan_reader. NULL: the innermost layer is computed directly or is no convolution. */
static inline const struct mafat_winograd *mafat_plan_winograd(const struct mafat_plan *plan,
                                                               int layer)
{
  return mafat_winograd_of(plan->algorithms[mafat_plan_reader(plan, layer)]);
}

#endif
