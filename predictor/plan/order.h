/* In which order layers are run, and which are run together.
 *
 * In groups that run each layer once (1x1 and panels) a layer that frees more than
 * it takes is run as soon as its sources are there: YOLOv2's route back to a wide
 * map need not keep that map through the deepest layers. A spec may say how else
 * the layers of a group are put in order, where it is not by rows (group_order.h).
 *
 * A *panel fusion* (FDT: fan-out, fan-in): a convolution all of whose readers are 1x1
 * convolutions and maxpools is computed a panel of filters at a time, and its
 * readers take every panel as it comes: a 1x1 as a slice of its input channels,
 * continuing sums that lie in its output. Of the wide map only a panel exists. */
#ifndef MAFAT_PREDICTOR_PLAN_ORDER_H
#define MAFAT_PREDICTOR_PLAN_ORDER_H

#include "predictor/plan/plan.h"

/* Fills plan->panel_producer; with `spread` false, with nothing. After mafat_fusion_find. */
int mafat_order_find_panel_fusions(struct mafat_plan *plan, const struct mafat_network *n, bool spread);
/* Fills plan->order and plan->position. After the panel fusions. */
int mafat_order_find(struct mafat_plan *plan, const struct mafat_network *n);

/* Is `layer` the convolution of a panel fusion? */
static inline bool mafat_order_is_panel_producer(const struct mafat_plan *plan, int layer)
{
  return plan->panel_producer[layer] == layer;
}

/* Does it take the panels of one? */
static inline bool mafat_order_is_panel_consumer(const struct mafat_plan *plan, int layer)
{
  return plan->panel_producer[layer] >= 0 && plan->panel_producer[layer] != layer;
}

#endif
