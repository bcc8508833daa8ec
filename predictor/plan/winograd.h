/* Winograd's convolutions: where they apply, where they pay, which of them an algorithm is. */
#ifndef MAFAT_PREDICTOR_PLAN_WINOGRAD_H
#define MAFAT_PREDICTOR_PLAN_WINOGRAD_H

#include "base/winograd.h"
#include "network/network.h"
#include "predictor/plan/plan.h"

/* 3x3, stride 1, one group. */
bool mafat_winograd_applies(const struct mafat_layer *l);
/* The algorithm that is expected to be the fastest. A function of the layer's shape
 * alone, on any machine: what a plan takes where nothing says otherwise. */
enum mafat_algorithm mafat_winograd_fastest(const struct mafat_layer *l);

/* NULL: no Winograd. */
const struct mafat_winograd *mafat_winograd_of(enum mafat_algorithm algorithm);

/* Of the convolution whose input a step of `layer` reads, in a plan; NULL: it is none, or direct. */
static inline const struct mafat_winograd *mafat_plan_winograd(const struct mafat_plan *plan, int layer)
{
  return mafat_winograd_of(plan->algorithms[mafat_plan_reader(plan, layer)]);
}

#endif
