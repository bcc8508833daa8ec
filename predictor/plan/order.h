/* Default execution order of layers, and panel fusions. Called by predictor/ and
 * search/best/costs.c. Fills the plan; allocates from its heap.
 *
 * In groups that run each layer once (those with a grid of 1x1 tiles, or panels), a layer that
 * frees more than it allocates runs as soon as its sources exist. In YOLOv2, for example, the wide
 * map that a route reads does not stay alive through the deepest layers. A spec may name another
 * order for groups that are not by rows (group_order.h).
 *
 * A *panel fusion* (fused depthwise tiling, FDT) is a convolution read only by 1x1 convolutions and
 * maxpools. It is computed one panel of filters at a time, and its readers process each panel
 * before the next one is computed. A 1x1 reader uses the panel as a slice of its input channels and
 * continues the sums in its output. Only one panel of the convolution's output exists at a time. */
#ifndef MAFAT_PREDICTOR_PLAN_ORDER_H
#define MAFAT_PREDICTOR_PLAN_ORDER_H

#include "predictor/plan/plan.h"

/* Fills plan->panel_producer; with no panel fusions if `spread` is false. Call after
 * mafat_fusion_find. Returns MAFAT_ENOMEM if out of memory. */
int mafat_order_find_panel_fusions(struct mafat_plan *plan, const struct mafat_network *n,
                                   bool spread);
/* Fills plan->order and plan->position. Call after mafat_order_find_panel_fusions. Returns
 * MAFAT_ENOMEM if out of memory. */
int mafat_order_find(struct mafat_plan *plan, const struct mafat_network *n);

/* True if `layer` is the convolution of a panel fusion. */
static inline bool mafat_order_is_panel_producer(const struct mafat_plan *plan, int layer)
{
  return plan->panel_producer[layer] == layer;
}

/* True if `layer` reads the panels of a panel fusion. */
static inline bool mafat_order_is_panel_consumer(const struct mafat_plan *plan, int layer)
{
  return plan->panel_producer[layer] >= 0 && plan->panel_producer[layer] != layer;
}

#endif
