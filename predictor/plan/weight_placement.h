/* Weight placement: where each layer's weights are while a plan runs (spec.h). Steps of layers with
 * streamed weights are divided into panels of filters. Called by predictor/ and
 * runner/engine/kinds/conv_winograd.c. */
#ifndef MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H
#define MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H

#include "predictor/plan/plan.h"

/* Fills plan->placement. Call after the order and its panel fusions are found. MAFAT_ENOMEM. */
int mafat_weight_placement_find(struct mafat_plan *plan, const struct mafat_network *n,
                         const struct mafat_plan_options *options);

/* True if the layer's steps are divided into panels of filters (MAFAT_PANEL filters for each
 * thread). `layer` has steps of its own: it is the outermost of fused layers. */
bool mafat_plan_divides(const struct mafat_plan *plan, const struct mafat_network *n, int layer);
/* True if the layer's Winograd input is transformed in a separate step, before those of its
 * panels. */
bool mafat_plan_transforms(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

#endif
