/* Decides where quantized weights and their scales are, and checks them. Called by
 * formats/graph/compute.c. Changes the layer and its constants. */
#include "formats/graph/scaled_weights.h"

#include <stdlib.h>

/* Checks that sums can be requantized to the output's scale by every weight scale. */
static int check_scales(struct mafat_graph *g, const struct mafat_layer *l,
                        const struct mafat_scales *s, bool single)
{
  float in = mafat_network_in_quantization(g->network, (int)(l - g->network->layers), 0).scale,
        out = l->quantization.scale;
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  double *scales = malloc((size_t)s->list.n * sizeof *scales);
  if (!scales) return mafat_graph_fail_memory(g);
  int code = mafat_graph_read_numbers(g, &s->list, s->list.n, scales);
  for (uint64_t i = 0; i < s->list.n && code == MAFAT_OK; i++) {
    double factor = even ? (double)(in * (float)scales[i] / out)
                         : mafat_quantization_factor(in, (float)scales[i], out, single);
    if (!mafat_multiplier_can(factor))
      code =
          mafat_graph_fail(g, MAFAT_EFORMAT,
                           "filter %llu: scales %g * %g / %g: would need a multiplier of 2^30 or "
                           "more",
                           (unsigned long long)i, (double)in, scales[i], (double)out);
  }
  free(scales);
  return code;
}

/* Sets the zero point of the weights, as int8; TFLite's rule requires 0. */
static int set_zero(struct mafat_graph *g, struct mafat_layer *l,
                    const struct mafat_value *weights)
{
  int zero = weights->scales.zero - (weights->place.type == MAFAT_U8 ? MAFAT_SIGNED_TO_BYTE : 0);
  l->weights_zero = (signed char)zero;
  if (weights->place.type == MAFAT_I8 && zero && l->quantization.rounding != MAFAT_REQUANTIZE_EVEN)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "weights of int8: expected a zero point of 0, found %d", zero);
  return MAFAT_OK;
}

static int check_scale_count(struct mafat_graph *g, const struct mafat_layer *l,
                             const struct mafat_scales *s)
{
  if (s->list.n <= 1 || s->list.n == (uint64_t)l->filters) return MAFAT_OK;
  return mafat_graph_fail(g, MAFAT_EFORMAT, "expected a scale for each of %d filters, found %llu",
                          l->filters, (unsigned long long)s->list.n);
}

static int put_scales(struct mafat_graph *g, const struct mafat_layer *l,
                      const struct mafat_scales *s)
{
  struct mafat_layer_constants *c = &g->network->constants->layers[l - g->network->layers];
  c->parts = calloc(1, sizeof *c->parts);
  if (!c->parts) return mafat_graph_fail_memory(g);
  c->parts->scales = s->list;
  return MAFAT_OK;
}

int mafat_graph_place_hybrid(struct mafat_graph *g, struct mafat_layer *l,
                             const struct mafat_value *weights)
{
  struct mafat_value real = *weights;
  if (mafat_network_in_type(g->network, (int)(l - g->network->layers)) != MAFAT_F32)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "integers as input and floats as output: not run by this version");
  if (!weights->scales.real && (weights->place.type != MAFAT_I8 || weights->scales.zero))
    return mafat_graph_fail(
        g, MAFAT_EUNSUPPORTED,
        "weights of a float layer: expected int8 with a zero point of 0, found %s with %d",
        mafat_dtype_name((enum mafat_dtype)weights->place.type), weights->scales.zero);
  int code = check_scale_count(g, l, &weights->scales);
  if (code) return code;
  if (mafat_graph_place_narrow(g, l, weights)) return put_scales(g, l, &weights->scales);
  real.scales.real = 1;
  return mafat_graph_place(g, &g->network->constants->layers[l - g->network->layers].weights,
                           &real);
}

int mafat_graph_place_integers(struct mafat_graph *g, struct mafat_layer *l,
                               const struct mafat_value *weights, const struct mafat_value *bias,
                               bool single)
{
  const struct mafat_scales *s = &weights->scales;
  const char *type = mafat_dtype_name((enum mafat_dtype)weights->place.type);
  if (mafat_network_in_type(g->network, (int)(l - g->network->layers)) == MAFAT_F32)
    return mafat_graph_fail(
        g, MAFAT_EUNSUPPORTED,
        "weights of %s, floats as input and integers as output: not run by this version", type);
  if (bias && bias->form != MAFAT_VALUE_NONE && bias->place.type != MAFAT_I32)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected a bias of int32 with weights of %s",
                            type);
  int code = check_scale_count(g, l, s);
  if (code == MAFAT_OK) code = set_zero(g, l, weights);
  if (code == MAFAT_OK) code = check_scales(g, l, s, single);
  if (code == MAFAT_OK) code = put_scales(g, l, s);
  if (code) return code;
  l->weights_type = MAFAT_I8;
  l->single = single;
  return MAFAT_OK;
}
