/* Counts the work of shortcuts and other element-wise blends. Called by cost/work.c through the
 * table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/plan/fusion.h"
#include "predictor/kind.h"

/* Elements that the step reads of all operands but the first. */
static double other_elements(const struct mafat_counting *c)
{
  double elements = 0;
  for (int k = 1; k < c->layer->n_operands; k++) {
    const struct mafat_operand *o = &c->layer->operands[k];
    struct mafat_box in = {mafat_layer_in_span(c->layer, k, true, c->box.y),
                           mafat_layer_in_span(c->layer, k, false, c->box.x)};
    int channels = o->shape.c == 1 ? 1 : mafat_span_size(c->filters);
    elements += o->broadcast ? (double)mafat_box_area(in) * channels : mafat_counting_outputs(c);
  }
  return elements;
}

/* Cost of one pass over the outputs, in copied floats. Each row of a channel block is blended by
 * one loop over vectors, which has a fixed cost. */
static double blended(const struct mafat_counting *c)
{
  return mafat_counting_outputs(c) * (0.2 + 9.0 / mafat_span_size(c->box.x));
}

/* If a convolution is fused into the step, its outputs were just stored and are still in a cache,
 * so only the other maps are read from memory. */
static void count_blend(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  bool fused = c->inner >= 0;
  double outputs = mafat_counting_outputs(c), element = mafat_dtype_size(l->out_type);
  int blends = l->n_operands - 1, passes = blends;
  if (!fused && !mafat_fusion_blends_alike(l)) passes += 1 + (l->activation.kind != MAFAT_LINEAR);
  bool integer = mafat_counting_is_integer(c);
  mafat_count_rows(c, integer ? MAFAT_TERM_INTEGER_BLENDED : MAFAT_TERM_MOVED,
                   integer ? outputs * blends : blended(c) * passes,
                   ((fused ? 0 : outputs) + other_elements(c)) * element,
                   fused ? 0 : outputs * element);
  if (!integer) mafat_count_activation(c, outputs);
}

const struct mafat_predictor_kind mafat_predictor_shortcut = {.count = count_blend};
const struct mafat_predictor_kind mafat_predictor_scale_channels = {.count = count_blend};
const struct mafat_predictor_kind mafat_predictor_sam = {.count = count_blend};
