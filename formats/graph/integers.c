/* Whole numbers: layers that bring them to another scale, and what convolutions of them have. */
#include "formats/graph/compute.h"

#include <math.h>
#include <stdlib.h>

/* ---- other scales ---- */

static int end_one(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, struct mafat_layer *l,
                   struct mafat_meaning to)
{
  struct mafat_view view = in->view;
  if (!l) return MAFAT_EUNSUPPORTED;
  int code = mafat_graph_end_layer(g, l);
  l->out_type = to.type;
  l->quantization = to.numbers;
  return code ? code : mafat_graph_output(g, out, l, &view);
}

int mafat_graph_quantize(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                         struct mafat_meaning to, enum mafat_requantizing rounding)
{
  struct mafat_meaning from = mafat_value_meaning(g, in);
  bool numbers = from.type != MAFAT_F32 && to.type != MAFAT_F32;
  to.numbers.rounding = (unsigned)rounding & 0x7f;
  if (numbers && !mafat_multiplier_can((double)from.numbers.scale / (double)to.numbers.scale))
    return mafat_graph_fail(g, MAFAT_EFORMAT, "a scale of %g cannot become one of %g: a multiplier of 2^30 or more",
                            (double)from.numbers.scale, (double)to.numbers.scale);
  return end_one(g, out, in, mafat_graph_begin(g, MAFAT_QUANTIZE, in), to);
}

int mafat_graph_rename_numbers(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                               struct mafat_meaning to)
{
  return end_one(g, out, in, mafat_graph_begin(g, MAFAT_ACTIVATION_LAYER, in), to);
}

int mafat_graph_clamp(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, float least,
                      float most)
{
  struct mafat_layer *l = mafat_graph_maker(g, in);
  if (l && (l->rearrange || l->resample)) l = NULL; /* puts out what it reads, or lies between */
  int code = l ? mafat_value_copy(g, out, in) : mafat_graph_rename_numbers(g, out, in, mafat_value_meaning(g, in));
  if (code) return code;
  if (!l) l = &g->network->layers[out->maker];
  mafat_quantization_clamp(&l->quantization, least, most);
  return MAFAT_OK;
}

/* ---- convolutions ---- */

/* By each of the scales sums must come to the output's. */
static int check_scales(struct mafat_graph *g, const struct mafat_layer *l, const struct mafat_scales *s, bool single)
{
  float in = mafat_network_in_quantization(g->network, (int)(l - g->network->layers), 0).scale, out = l->quantization.scale;
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  double *scales = malloc((size_t)s->list.n * sizeof *scales);
  if (!scales) return mafat_graph_fail(g, MAFAT_ENOMEM, "out of memory");
  int code = g->numbers.read(g->numbers.context, &s->list, 0, s->list.n, scales, g->d);
  for (uint64_t i = 0; i < s->list.n && code == MAFAT_OK; i++) {
    double factor = even ? (double)(in * (float)scales[i] / out) : mafat_quantization_factor(in, (float)scales[i], out, single);
    if (!mafat_multiplier_can(factor))
      code = mafat_graph_fail(g, MAFAT_EFORMAT, "filter %llu: scales of %g, %g and %g make a multiplier of 2^30 or more",
                              (unsigned long long)i, (double)in, scales[i], (double)out);
  }
  free(scales);
  return code;
}

/* Weights have one zero, which is that of int8: by TFLite's rule 0. */
static int take_zero(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *weights)
{
  int zero = weights->scales.zero - (weights->place.type == MAFAT_U8 ? MAFAT_SIGNED_TO_BYTE : 0);
  l->weights_zero = (signed char)zero;
  if (weights->place.type == MAFAT_I8 && zero && l->quantization.rounding != MAFAT_REQUANTIZE_EVEN)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "weights of int8: expected a zero point of 0, found %d", zero);
  return MAFAT_OK;
}

static int check_scale_count(struct mafat_graph *g, const struct mafat_layer *l, const struct mafat_scales *s)
{
  if (s->list.n <= 1 || s->list.n == (uint64_t)l->filters) return MAFAT_OK;
  return mafat_graph_fail(g, MAFAT_EFORMAT, "expected a scale for each of %d filters, found %llu", l->filters,
                          (unsigned long long)s->list.n);
}

static int put_scales(struct mafat_graph *g, const struct mafat_layer *l, const struct mafat_scales *s)
{
  struct mafat_layer_constants *c = &g->network->constants->layers[l - g->network->layers];
  c->parts = calloc(1, sizeof *c->parts);
  if (!c->parts) return mafat_graph_fail(g, MAFAT_ENOMEM, "out of memory");
  c->parts->scales = s->list;
  return MAFAT_OK;
}

int mafat_graph_place_hybrid(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *weights)
{
  struct mafat_value real = *weights;
  if (mafat_network_in_type(g->network, (int)(l - g->network->layers)) != MAFAT_F32)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "an input of whole numbers and floats as output: not run by this version");
  if (!weights->scales.real && (weights->place.type != MAFAT_I8 || weights->scales.zero))
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "weights beside floats: expected int8 with a zero point of 0, found %s with %d",
                            mafat_dtype_name((enum mafat_dtype)weights->place.type), weights->scales.zero);
  int code = check_scale_count(g, l, &weights->scales);
  if (code) return code;
  if (mafat_graph_place_narrow(g, l, weights)) return put_scales(g, l, &weights->scales);
  real.scales.real = 1;
  return mafat_graph_place(g, &g->network->constants->layers[l - g->network->layers].weights, &real);
}

int mafat_graph_place_integers(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_graph_conv *conv)
{
  const struct mafat_scales *s = &conv->weights->scales;
  const char *type = mafat_dtype_name((enum mafat_dtype)conv->weights->place.type);
  if (mafat_network_in_type(g->network, (int)(l - g->network->layers)) == MAFAT_F32)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "weights of %s, floats as input and whole numbers as output: not run by this version",
                            type);
  if (conv->bias && conv->bias->form != MAFAT_VALUE_NONE && conv->bias->place.type != MAFAT_I32)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected a bias of int32 beside weights of %s", type);
  int code = check_scale_count(g, l, s);
  if (code == MAFAT_OK) code = take_zero(g, l, conv->weights);
  if (code == MAFAT_OK) code = check_scales(g, l, s, conv->single);
  if (code == MAFAT_OK) code = put_scales(g, l, s);
  if (code) return code;
  l->weights_type = MAFAT_I8;
  l->single = conv->single;
  return MAFAT_OK;
}
