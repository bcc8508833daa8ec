/* Layers that are computed inside the step of the layer that reads them, so that
 * what lies between never exists as a map:
 *
 *   - a convolution whose only reader is a 2x2 maxpool of stride 2: pooled in
 *     the store;
 *   - a depthwise convolution whose only reader is a 1x1 convolution: computed
 *     a few rows at a time into scratch;
 *   - a convolution (and the depthwise inside it) whose only reader is a shortcut
 *     that adds a map of the same size: added to where it was stored.
 *
 * All must lie in one group. Nothing is computed twice for it, and no
 * bit changes, so plans do not mention it. The functions below give the
 * geometry of such a step as one: whoever asks a layer for its input spans asks
 * here, and plan.h for its sources. */
#ifndef MAFAT_PREDICTOR_FUSION_H
#define MAFAT_PREDICTOR_FUSION_H

#include "predictor/plan.h"

/* Fills plan->inner and plan->outer; with `fuse` false, with nothing. */
int mafat_fusion_find(struct mafat_plan *plan, const struct mafat_network *n, bool fuse);

/* Span of the innermost layer's output that the span `out` of `layer` is made
 * from; `out` itself where nothing is inside. */
struct mafat_span mafat_fusion_inner_span(const struct mafat_plan *plan, const struct mafat_network *n,
                                          int layer, bool axis_y, struct mafat_span out);

/* Span of the sources that the span `out` reads (network.h: mafat_layer_in_span). */
struct mafat_span mafat_fusion_in_span(const struct mafat_plan *plan, const struct mafat_network *n,
                                       int layer, bool axis_y, struct mafat_span out);

/* What boxes of a layer's output are rounded out to: 1, with Winograd its tiles
 * of 4 (of 2 pooled pixels). */
int mafat_fusion_granularity(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

/* Two tensors of one shape, each by itself, in blocks of their own: what a
 * shortcut can add in one pass. */
bool mafat_fusion_adds_alike(const struct mafat_layer *shortcut);

#endif
