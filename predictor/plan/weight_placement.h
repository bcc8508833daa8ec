/* Where each layer's weights are while a plan runs, and which layers' steps come in
 * parts for it: panels of filters and slices of input channels. */
#ifndef MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H
#define MAFAT_PREDICTOR_PLAN_WEIGHT_PLACEMENT_H

#include "predictor/plan/plan.h"

/* Fills plan->placement. After the order and its panel fusions. MAFAT_ENOMEM. */
int mafat_weight_placement_find(struct mafat_plan *plan, const struct mafat_network *n,
                         const struct mafat_plan_options *options);

/* Are the layer's steps panels of filters, MAFAT_PANEL for each thread? `layer` as
 * in a step: fused ones go by their outermost. */
bool mafat_plan_divides(const struct mafat_plan *plan, const struct mafat_network *n, int layer);
/* Winograd: is the input transformed in a step of its own, for all the steps of
 * panels that follow? */
bool mafat_plan_transforms(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

#endif
