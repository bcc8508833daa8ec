/* Chooses where each layer's weights are while a plan runs. Some layers' steps are divided for it,
 * into panels of filters and slices of input channels. Called by predictor/ and
 * runner/engine/kinds/conv_winograd.c. */
#ifndef MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H
#define MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H

#include "predictor/plan/plan.h"

/* Fills plan->placement. Call after the order and its panel fusions are found. MAFAT_ENOMEM. */
int mafat_weight_placement_find(struct mafat_plan *plan, const struct mafat_network *n,
                         const struct mafat_plan_options *options);

/* True if the layer's steps are panels of filters, MAFAT_PANEL for each thread. Give the outermost
 * layer of fused ones, as in a step. */
bool mafat_plan_divides(const struct mafat_plan *plan, const struct mafat_network *n, int layer);
/* True if Winograd's input is transformed in a separate step, before all steps of panels. */
bool mafat_plan_transforms(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

#endif
