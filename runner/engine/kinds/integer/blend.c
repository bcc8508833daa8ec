/* Blends two quantized maps element by element. Called by the executor through the table in
 * kinds.c; conv.c in this folder calls mafat_integer_blend for fused shortcuts. Writes the step's
 * output in the arena; allocates nothing. */
#include "runner/engine/kinds/integer/integer.h"

#include "predictor/plan/fusion.h"

/* Returns a kernel call with the factors and zero points of the layer; the caller adds addresses
 * and sizes. x: quantization of the first operand. Sums follow TFLite's rule: both operands are
 * converted to integers of scale (twice the larger scale) / 2^20 before they are added. */
struct mafat_integer_blend_call mafat_integer_blend(const struct mafat_network *n, int layer,
                                                    const struct mafat_quantization *x)
{
  enum { SUM_BITS = 20 };
  const struct mafat_layer *l = &n->layers[layer];
  struct mafat_quantization z = mafat_network_in_quantization(n, layer, 1);
  double a = (double)x->scale, b = (double)z.scale, out = (double)l->quantization.scale,
         twice = 2 * (a > b ? a : b);
  struct mafat_integer_blend_call call = {.blend = l->blend,
                                          .subtract = l->alpha * l->beta < 0,
                                          .x_zero = x->zero,
                                          .z_zero = z.zero,
                                          .to = l->quantization};
  if (l->quantization.rounding == MAFAT_REQUANTIZE_EVEN) {
    bool sum = l->blend == MAFAT_BLEND_ADD;
    call.x_factor = (sum && l->alpha < 0 ? -x->scale : x->scale) / l->quantization.scale;
    call.z_factor = (sum && l->beta < 0 ? -z.scale : z.scale) / l->quantization.scale;
    call.factor = x->scale * z.scale / l->quantization.scale;
  } else if (l->blend == MAFAT_BLEND_ADD) {
    call.x_scale = mafat_multiplier(a / twice);
    call.z_scale = mafat_multiplier(b / twice);
    /* z - x is computed as x - z with a negative factor; the result is the same */
    call.scale = mafat_multiplier((l->alpha < 0 ? -twice : twice) / ((1 << SUM_BITS) * out));
  } else {
    /* Scales are divided as floats, not doubles, as TFLite does: if scales have few significant
     * bits, many results are exactly between two integers, and rounding matters. x_scale is for the
     * values of x that are not negative (if blend is PRELU). */
    call.x_scale = mafat_multiplier((double)(x->scale / l->quantization.scale));
    call.scale = mafat_multiplier(mafat_product_factor(x->scale, z.scale, l->quantization.scale));
  }
  return call;
}

/* Returns the number of channels, from c on, that are contiguous in both operands and in the
 * output. alike: operands and output store channels in the same blocks. */
static int run_at(int c, int end, bool alike)
{
  if (!alike) return 1;
  return mafat_min(end, (c / MAFAT_CHANNEL_BLOCK + 1) * MAFAT_CHANNEL_BLOCK) - c;
}

static int run_blend(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_operand *other = &l->operands[1];
  struct mafat_quantization x = mafat_network_in_quantization(t->network, step->layer, 0);
  struct mafat_integer_blend_call call = mafat_integer_blend(t->network, step->layer, &x);
  bool alike = mafat_fusion_blends_alike(l);
  call.n_cols = mafat_span_size(step->out.x);
  call.z_single = other->shape.c == 1;
  for (int c = step->filters.begin, n; c < step->filters.end; c += n) {
    n = run_at(c, step->filters.end, alike);
    call.n_channels = n;
    call.y_pixel_bytes = (int)mafat_tensors_pixel_bytes(t, step->layer, c / MAFAT_CHANNEL_BLOCK);
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      int z_y = other->shape.h == 1 ? 0 : y, z_x = other->shape.w == 1 ? 0 : step->out.x.begin;
      call.x = mafat_integer_source_at(t, mafat_layer_sources(l), c, y, step->out.x.begin,
                                       &call.x_pixel_bytes);
      call.z = mafat_integer_source_at(t, &other->sources, call.z_single ? 0 : c, z_y, z_x,
                                       &call.z_pixel_bytes);
      if (other->shape.w == 1) call.z_pixel_bytes = 0;
      call.y = (uint8_t *)mafat_tensors_address(t, step->layer, c / MAFAT_CHANNEL_BLOCK, y,
                                                step->out.x.begin) +
               c % MAFAT_CHANNEL_BLOCK;
      w->integers->blend(&call);
    }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_shortcut = {.run = run_blend,
                                                         .sharing = MAFAT_SHARED_BY_ROWS};
