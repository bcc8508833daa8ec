/* Fusion: a layer is computed inside the step of the layer that reads it, so that the tensor
 * between them is never stored as a map. Called by predictor/, runner/engine/, runner/weights/,
 * search/ and api/. Allocates from the plan's heap.
 *
 * These are fused:
 *   - a convolution whose only reader is a 2x2 maxpool of stride 2: its values are pooled just
 *     before they are stored;
 *   - a depthwise convolution whose only reader is a 1x1 convolution: computed a few rows at
 *     a time into scratch;
 *   - a convolution (and the depthwise inside it) whose only reader is a shortcut that adds one
 *     map at least as large as its output: the map is added just before the values are stored;
 *   - a table of floats that only one layer reads: that layer reads the table's kept weights
 *     directly, also from another group.
 *
 * Except for the table, all layers of a fusion must be in one group. Nothing is computed twice and
 * no bit of an output changes. So fusion needs no words in a spec, except for
 * depthwise layers (spec.h). The
 * step belongs to the outermost layer. Use the functions below for its input spans, plan.h for its
 * sources, and mafat_fusion_inside to walk over its layers. */
#ifndef MAFAT_PREDICTOR_PLAN_FUSION_H
#define MAFAT_PREDICTOR_PLAN_FUSION_H

#include "predictor/plan/plan.h"

/* Applies a group's depthwise words (":dw4") to its layers (n_layers, ascending): fills
 * plan->depthwise_rows. Returns MAFAT_EINVAL if a word names a layer outside the group, or a single
 * layer that is not depthwise; MAFAT_ENOMEM if out of memory. */
int mafat_fusion_apply(struct mafat_plan *plan, const struct mafat_network *n, const int *layers,
                       int n_layers, const struct mafat_group_spec *group,
                       struct mafat_diagnostic *d);
/* Adds the plan's depthwise words to `group`, which consists of these layers and has no words yet.
 * Allocates from `heap`. Returns MAFAT_ENOMEM if out of memory. */
int mafat_fusion_words(const struct mafat_plan *plan, const struct mafat_network *n,
                       const int *layers, int n_layers, struct mafat_heap *heap,
                       struct mafat_group_spec *group);

/* Fills plan->inner, plan->outer and plan->table; with no fusions if `fuse` is false. Returns
 * MAFAT_ENOMEM if out of memory. */
int mafat_fusion_find(struct mafat_plan *plan, const struct mafat_network *n, bool fuse);

/* Returns the layer computed inside a step of `layer`, or -1. To walk over all layers of a step,
 * from its own inwards:
 *   for (int l = step->layer; l >= 0; l = mafat_fusion_inside(plan, l))
 * A lookup table comes last: it has weights and computes nothing. */
static inline int mafat_fusion_inside(const struct mafat_plan *plan, int layer)
{
  return plan->inner[layer] >= 0 ? plan->inner[layer] : plan->table[layer];
}

/* True if `layer` is a maxpool that pools a convolution inside its step. */
static inline bool mafat_fusion_pools(const struct mafat_plan *plan, const struct mafat_network *n,
                                      int layer)
{
  return mafat_fusion_inside(plan, layer) >= 0 && mafat_layer_pools(&n->layers[layer]);
}

enum { MAFAT_FUSION_MOST = 3 }; /* layers that one step computes: depthwise, 1x1, shortcut */

/* Part of one layer that a step computes. A step has a list of links, from the outermost layer to
 * the innermost. */
struct mafat_link {
  int layer;
  struct mafat_box box; /* box of its output */
  struct mafat_span filters, channels;
};

/* Fills the links of a step after links[0], which the caller sets for the step's own layer. Returns
 * their number. */
int mafat_fusion_links(const struct mafat_plan *plan, const struct mafat_network *n,
                       struct mafat_link links[MAFAT_FUSION_MOST]);

/* Returns the rows (axis_y) or columns of the innermost layer's output that are needed to compute
 * `out` of `layer`; `out` if no layer runs inside it. */
struct mafat_span mafat_fusion_inner_span(const struct mafat_plan *plan,
                                          const struct mafat_network *n, int layer, bool axis_y,
                                          struct mafat_span out);

/* Returns the rows (axis_y) or columns of an operand of the step (plan.h: mafat_plan_reads) that
 * are needed to compute `out` of `layer`. */
struct mafat_span mafat_fusion_in_span(const struct mafat_plan *plan, const struct mafat_network *n,
                                       int layer, int operand, bool axis_y, struct mafat_span out);

/* Multiple to which boxes of a layer's output are rounded out: the outputs of a Winograd tile along
 * one axis (half of these if pooled), else 1. */
int mafat_fusion_granularity(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer);

/* True if each operand of a blend is one tensor that starts at a channel block, and has the
 * output's shape or is broadcast. Then the blend needs one pass for each operand after the first,
 * and no copy of the first. */
bool mafat_fusion_blends_alike(const struct mafat_layer *l);

#endif
