/* Layers computed inside the step of the layer that reads them. The tensor between them then never
 * exists as a map. Called by predictor/, runner/engine/, runner/weights/, search/ and api/.
 * Allocates from the plan's heap.
 *
 * These are fused:
 *   - a convolution whose only reader is a 2x2 maxpool of stride 2: pooled in the store;
 *   - a depthwise convolution whose only reader is a 1x1 convolution: computed a few rows at
 *     a time into scratch;
 *   - a convolution (and the depthwise inside it) whose only reader is a shortcut that adds one
 *     map, no smaller: added where it is stored;
 *   - a table of floats in which only one layer looks up values: read from its kept weights,
 *     whatever its group.
 *
 * Except for the table, all must be in one group. Nothing is computed twice and no bit of an
 * output changes. So specs of plans do not mention fusion; they only choose the rows of depthwise
 * layers (spec.h). The functions below treat such a step as one operation: use them for input
 * spans, plan.h for sources, and the walk below for all layers of a step. */
#ifndef MAFAT_PREDICTOR_PLAN_FUSION_H
#define MAFAT_PREDICTOR_PLAN_FUSION_H

#include "predictor/plan/plan.h"

/* Applies a group's depthwise words to its layers (n_layers, ascending): fills
 * plan->depthwise_rows. MAFAT_EINVAL: a word names a layer outside the group, or a single
 * layer that is not depthwise; MAFAT_ENOMEM. */
int mafat_fusion_apply(struct mafat_plan *plan, const struct mafat_network *n, const int *layers,
                       int n_layers, const struct mafat_group_spec *group,
                       struct mafat_diagnostic *d);
/* Adds the plan's depthwise words to `group`, which consists of these layers and has no words yet.
 * Allocates from `heap`. MAFAT_ENOMEM. */
int mafat_fusion_words(const struct mafat_plan *plan, const struct mafat_network *n,
                       const int *layers, int n_layers, struct mafat_heap *heap,
                       struct mafat_group_spec *group);

/* Fills plan->inner, plan->outer and plan->table; with no fusions if `fuse` is false. */
int mafat_fusion_find(struct mafat_plan *plan, const struct mafat_network *n, bool fuse);

/* Returns the layer computed inside a step of `layer`, or -1. To walk over all layers of a step,
 * from its own inwards:
 *   for (int l = step->layer; l >= 0; l = mafat_fusion_inside(plan, l))
 * A lookup table comes last: it has weights and computes nothing. */
static inline int mafat_fusion_inside(const struct mafat_plan *plan, int layer)
{
  return plan->inner[layer] >= 0 ? plan->inner[layer] : plan->table[layer];
}

/* True if the layer inside is pooled while it is stored. */
static inline bool mafat_fusion_pools(const struct mafat_plan *plan, const struct mafat_network *n,
                                      int layer)
{
  return mafat_fusion_inside(plan, layer) >= 0 && mafat_layer_pools(&n->layers[layer]);
}

enum { MAFAT_FUSION_MOST = 3 }; /* layers that one step computes: depthwise, 1x1, shortcut */

/* Part of one layer that a step computes. */
struct mafat_link {
  int layer;
  struct mafat_box box; /* box of its output */
  struct mafat_span filters, channels;
};

/* Fills the links of a step. The caller gives the first, of the step's own layer; the innermost
 * comes last. Returns their number. */
int mafat_fusion_links(const struct mafat_plan *plan, const struct mafat_network *n,
                       struct mafat_link links[MAFAT_FUSION_MOST]);

/* Span of the innermost layer's output needed for the span `out` of `layer`; `out` itself if
 * nothing is inside. */
struct mafat_span mafat_fusion_inner_span(const struct mafat_plan *plan,
                                          const struct mafat_network *n, int layer, bool axis_y,
                                          struct mafat_span out);

/* Span of an operand of the step (plan.h: mafat_plan_reads) read for the span `out` of `layer`
 * (kind.h: mafat_layer_in_span). */
struct mafat_span mafat_fusion_in_span(const struct mafat_plan *plan, const struct mafat_network *n,
                                       int layer, int operand, bool axis_y, struct mafat_span out);

/* Multiple to which boxes of a layer's output are rounded out: 1, or Winograd's tile of 4 (2 if
 * pooled). */
int mafat_fusion_granularity(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer);

/* True if each operand is one tensor that starts at a block, and covers the whole output or is
 * broadcast. Then each operand after the first needs one pass, and the first needs no copy. */
bool mafat_fusion_blends_alike(const struct mafat_layer *l);

#endif
