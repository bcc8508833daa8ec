/* Weight placement: where each layer's weights are while a plan runs (spec.h). Steps of layers with
 * streamed weights are divided into panels of filters. Called by predictor/ (kinds, layout,
 * planning, schedule) and runner/engine/kinds/conv_winograd.c. Fills plan->placement, allocated
 * from the plan's heap. */
#ifndef MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H
#define MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H

#include "predictor/plan/plan.h"

/* Fills plan->placement. Call after the execution order and panel fusions are found (order.h).
 * Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_weight_placement_find(struct mafat_plan *plan, const struct mafat_network *n,
                         const struct mafat_plan_options *options);

/* True if the layer's steps are divided into panels of MAFAT_PANEL filters for each thread. `layer`
 * must have steps of its own: if it is fused with others, it must be the outermost of them. */
bool mafat_plan_divides(const struct mafat_plan *plan, const struct mafat_network *n, int layer);
/* True if the layer's input is transformed for Winograd in a separate step, before the steps of its
 * panels. */
bool mafat_plan_transforms(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

#endif
