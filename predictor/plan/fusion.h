/* Layers that are computed inside the step of the layer that reads them, so that
 * what lies between never exists as a map:
 *
 *   - a convolution whose only reader is a 2x2 maxpool of stride 2: pooled in
 *     the store;
 *   - a depthwise convolution whose only reader is a 1x1 convolution: computed
 *     a few rows at a time into scratch;
 *   - a convolution (and the depthwise inside it) whose only reader is a shortcut
 *     that adds one map, no smaller: added to where it was stored;
 *   - a table of floats that only one layer looks numbers up in: read where it is kept as weights, whatever group it is of.
 *
 * All others must lie in one group. Nothing is computed twice for it, and no
 * bit changes, so plans need not mention it; of depthwise ones they may (spec.h). The functions below give the
 * geometry of such a step as one: whoever asks a layer for its input spans asks
 * here, plan.h for its sources, and whoever wants all layers that a step computes
 * walks over them as below. */
#ifndef MAFAT_PREDICTOR_PLAN_FUSION_H
#define MAFAT_PREDICTOR_PLAN_FUSION_H

#include "predictor/plan/plan.h"

/* Applies the depthwise words of a group to its layers (n_layers), rising: plan->depthwise_rows. MAFAT_EINVAL: a layer is not in
 * the group, or stands alone and is not depthwise; MAFAT_ENOMEM. */
int mafat_fusion_apply(struct mafat_plan *plan, const struct mafat_network *n, const int *layers, int n_layers,
                       const struct mafat_group_spec *group, struct mafat_diagnostic *d);
/* Fills the depthwise words of a group with these layers, in a heap; there are none before. MAFAT_ENOMEM. */
int mafat_fusion_words(const struct mafat_plan *plan, const struct mafat_network *n, const int *layers, int n_layers,
                       struct mafat_heap *heap, struct mafat_group_spec *group);

/* Fills plan->inner, plan->outer and plan->table; with `fuse` false, with nothing. */
int mafat_fusion_find(struct mafat_plan *plan, const struct mafat_network *n, bool fuse);

/* The layer that is computed inside a step of `layer`, or -1. All that one step computes, from
 * its own layer inwards:
 *     for (int l = step->layer; l >= 0; l = mafat_fusion_inside(plan, l))
 * The table that it looks numbers up in is the last of them: it has weights, and computes nothing. */
static inline int mafat_fusion_inside(const struct mafat_plan *plan, int layer)
{
  return plan->inner[layer] >= 0 ? plan->inner[layer] : plan->table[layer];
}

/* Is what lies inside the layer pooled as it is stored? */
static inline bool mafat_fusion_pools(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return mafat_fusion_inside(plan, layer) >= 0 && mafat_layer_pools(&n->layers[layer]);
}

enum { MAFAT_FUSION_MOST = 3 }; /* layers that one step computes: depthwise, 1x1, shortcut */

/* What a step computes of one of its layers. */
struct mafat_link {
  int layer;
  struct mafat_box box; /* of its output */
  struct mafat_span filters, channels;
};

/* The links of a step: given its own layer's, the first; the innermost comes last. Returns how many. */
int mafat_fusion_links(const struct mafat_plan *plan, const struct mafat_network *n,
                       struct mafat_link links[MAFAT_FUSION_MOST]);

/* Span of the innermost layer's output that the span `out` of `layer` is made
 * from; `out` itself where nothing is inside. */
struct mafat_span mafat_fusion_inner_span(const struct mafat_plan *plan, const struct mafat_network *n,
                                          int layer, bool axis_y, struct mafat_span out);

/* Span of an operand of the step (plan.h: mafat_plan_reads) that the span `out` of `layer` reads
 * (kind.h: mafat_layer_in_span). */
struct mafat_span mafat_fusion_in_span(const struct mafat_plan *plan, const struct mafat_network *n,
                                       int layer, int operand, bool axis_y, struct mafat_span out);

/* What boxes of a layer's output are rounded out to: 1, with Winograd its tiles
 * of 4 (of 2 pooled pixels). */
int mafat_fusion_granularity(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

/* Operands that each are one tensor, in blocks of their own, and meet all of the output: what is
 * blended in one pass for each but the first. */
bool mafat_fusion_blends_alike(const struct mafat_layer *l);

#endif
