/* Chooses for each layer whether its weights are kept, loaded or streamed (spec.h). Called by
 * predictor/ (kinds, layout, planning, schedule) and runner/engine/kinds/conv_winograd.c. Fills
 * plan->placement, allocated from the plan's heap. */
#include "predictor/plan/weight_placement.h"

#include "base/part.h"
#include "predictor/plan/order.h"
#include "predictor/plan/parts.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/winograd.h"

/* True if a step can compute some of the layer's filters with only these filters' weights. */
static bool is_divisible(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  enum mafat_cut_kind cut = mafat_plan_group(plan, layer)->cut.kind;
  const struct mafat_layer *l = &n->layers[mafat_plan_reader(plan, layer)];
  if (mafat_order_is_panel_consumer(plan, layer)) return false;
  if (!mafat_layer_convolves(l)) return mafat_layer_has_panels(l) && cut == MAFAT_CUT_PANELS;
  return mafat_layer_is_ungrouped(l) && cut != MAFAT_CUT_GRID;
}

/* In a group that streams weights, layers whose packed weights have at most this many bytes are
 * loaded instead: their weights are read once and stay. A group by rows would stream the weights
 * again for each step of the layer. */
static size_t small_bytes(const struct mafat_group *g, const struct mafat_plan_options *options)
{
  if (g->weights.loaded_kb) return (size_t)g->weights.loaded_kb << 10;
  return g->cut.kind == MAFAT_CUT_ROWS ? (size_t)options->small_bytes : 0;
}

/* True if the weights of some filters can be read without those of others. */
static bool is_read_by_filters(const struct mafat_plan *plan, const struct mafat_network *n,
                               int layer)
{
  return plan->packed || !n->constants ||
         mafat_order_has_filters((enum mafat_order)n->constants->layers[layer].weights.order);
}

MAFAT_PART(opening)
int mafat_weight_placement_find(struct mafat_plan *plan, const struct mafat_network *n,
                                const struct mafat_plan_options *options)
{
  plan->placement = mafat_heap_calloc(plan->heap, (size_t)plan->n_layers, sizeof *plan->placement);
  if (!plan->placement) return MAFAT_ENOMEM;
  for (int l = 0; l < plan->n_layers; l++) {
    const struct mafat_group *g = mafat_plan_group(plan, l);
    int step = mafat_plan_outermost(plan, l);
    bool divisible = mafat_plan_reader(plan, step) == l && is_divisible(plan, n, step) &&
                     is_read_by_filters(plan, n, l);
    if (!mafat_layer_has_weights(&n->layers[l]) || mafat_plan_must_keep(options, &n->layers[l]))
      continue;
    /* In packed files, some channels of a filter can be read alone. From other files, whole filters
     * would be read again for each part of the channels. */
    if (mafat_parts_sum(plan, l) && !plan->packed) divisible = false;
    bool loaded = !divisible || mafat_packed_layer_bytes(&n->layers[l]) <= small_bytes(g, options);
    plan->placement[l] =
        g->weights.placement == MAFAT_STREAMED && loaded ? MAFAT_LOADED : g->weights.placement;
  }
  return MAFAT_OK;
}

bool mafat_plan_divides(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return is_divisible(plan, n, layer) &&
         (mafat_plan_group(plan, layer)->cut.kind == MAFAT_CUT_PANELS ||
          plan->placement[mafat_plan_reader(plan, layer)] == MAFAT_STREAMED);
}

bool mafat_plan_transforms(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return mafat_plan_winograd(plan, layer) && mafat_plan_divides(plan, n, layer);
}
