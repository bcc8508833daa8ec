/* Adds convolutions, normalizations and activations; folds normalizations and activations into an
 * earlier layer if possible. Called by formats/graph and by the importers in formats/onnx and
 * formats/tflite. Allocates layers in the graph. */
#include "formats/graph/compute.h"

#include "formats/graph/scaled_weights.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- layers of one operand ---- */

struct mafat_layer *mafat_graph_begin(struct mafat_graph *g, enum mafat_layer_type type,
                                      const struct mafat_value *in)
{
  struct mafat_layer *l = mafat_graph_add_layer(g, type);
  if (l) l->in = in->shape;
  return l && mafat_graph_add_operand(g, l, in) == MAFAT_OK ? l : NULL;
}

static int extent_of(const struct mafat_shape *s, int axis)
{
  return axis == MAFAT_AXIS_H   ? s->h
         : axis == MAFAT_AXIS_W ? s->w
         : axis == MAFAT_AXIS_C ? s->c
                                : 1;
}

int mafat_graph_output_on(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_layer *l, const struct mafat_graph_dims *dims)
{
  struct mafat_view view;
  long long sizes[MAFAT_VIEW_DIMS], extents[MAFAT_N_AXES];
  int axes[MAFAT_VIEW_DIMS];
  for (int i = 0; i < dims->n; i++) {
    sizes[i] = extent_of(&l->out, dims->axes[i]);
    axes[i] = dims->axes[i] < 0 ? MAFAT_AXIS_H : dims->axes[i];
  }
  mafat_view_lay(&view, dims->n, sizes, axes, extents);
  return mafat_graph_output(g, out, l, &view);
}

/* ---- convolutions ---- */

static struct mafat_layer_constants *constants_of(struct mafat_graph *g,
                                                  const struct mafat_layer *l)
{
  return &g->network->constants->layers[l - g->network->layers];
}

/* Records where the weights are stored: quantized, narrow (stored in few bits) or 32-bit floats. */
static int place_weights(struct mafat_graph *g, struct mafat_layer *l,
                         const struct mafat_graph_conv *conv)
{
  const struct mafat_value *weights = conv->weights;
  bool scaled = weights->form == MAFAT_VALUE_PLACE && weights->scales.list.n > 0;
  if (scaled && l->out_type == MAFAT_F32) return mafat_graph_place_hybrid(g, l, weights);
  int code =
      scaled ? mafat_graph_place_integers(g, l, weights, conv->bias, conv->single) : MAFAT_OK;
  if (code || (!scaled && mafat_graph_place_narrow(g, l, weights))) return code;
  return mafat_graph_place(g, &constants_of(g, l)->weights, weights);
}

int mafat_graph_convolve(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, const struct mafat_graph_conv *conv,
                         const struct mafat_graph_dims *dims)
{
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_CONVOLUTIONAL, in);
  if (!l) return MAFAT_EUNSUPPORTED;
  struct mafat_layer_constants *c = constants_of(g, l);
  l->window = conv->window;
  l->groups = conv->groups;
  l->filters = conv->filters;
  int code = mafat_graph_end_layer(g, l);
  struct mafat_matrix m = mafat_layer_matrix(l);
  long long wanted = (long long)m.filters * m.inputs * m.taps,
            found = mafat_value_elements(conv->weights);
  if (code == MAFAT_OK && wanted != found)
    code = mafat_graph_fail(g, MAFAT_EFORMAT, "expected %lld weights, found %lld", wanted, found);
  if (code == MAFAT_OK) code = place_weights(g, l, conv);
  if (code) return code;
  c->weights.order = conv->order;
  c->weights.flipped = conv->flipped;
  if (conv->bias && conv->bias->form != MAFAT_VALUE_NONE) {
    long long biases = mafat_value_elements(conv->bias);
    if (biases != m.filters && biases != 1)
      return mafat_graph_fail(g, MAFAT_EFORMAT, "expected %d biases, found %lld", m.filters,
                              biases);
    if (mafat_layer_sums_integers(l)) c->biases = conv->bias->place; /* int32, unchanged */
    else if ((code = mafat_graph_place(g, &c->biases, conv->bias))) return code;
  }
  return mafat_graph_output_on(g, out, l, dims);
}

/* ---- scale and bias ---- */

static int place_if(struct mafat_graph *g, struct mafat_constant *out, const struct mafat_value *v,
                    int channels)
{
  *out = (struct mafat_constant){0};
  if (!v) return MAFAT_OK;
  long long n = mafat_value_elements(v);
  if (n != channels && n != 1)
    return mafat_graph_fail(g, MAFAT_EFORMAT,
                            "expected %d numbers, one for each channel, found %lld", channels, n);
  return mafat_graph_place(g, out, v);
}

static int put_parts(struct mafat_graph *g, struct mafat_layer_constants *c,
                     const struct mafat_graph_affine *a, int channels)
{
  struct mafat_normalization_parts *p = calloc(1, sizeof *p);
  if (!p) return mafat_graph_fail_memory(g);
  c->parts = p;
  p->offsets = c->biases;
  p->epsilon = a->epsilon;
  int code = place_if(g, &p->means, a->means, channels);
  if (code == MAFAT_OK) code = place_if(g, &p->variances, a->variances, channels);
  if (code == MAFAT_OK) code = place_if(g, &p->scales, a->scales, channels);
  return code ? code : place_if(g, &c->biases, a->biases, channels);
}

/* Returns the convolution that made the map, if scale and bias can be folded into it; else NULL. */
static struct mafat_layer *convolution_before(struct mafat_graph *g, const struct mafat_value *in)
{
  struct mafat_layer *l = mafat_graph_maker(g, in);
  return l && mafat_layer_convolves(l) && l->activation.kind == MAFAT_LINEAR &&
                 !constants_of(g, l)->parts
             ? l
             : NULL;
}

int mafat_graph_normalize(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_value *in, const struct mafat_graph_affine *affine)
{
  struct mafat_layer *l = convolution_before(g, in);
  struct mafat_layer_constants *c = l ? constants_of(g, l) : NULL;
  bool bias_only = !affine->means && !affine->variances && !affine->scales;
  int code;
  if (c && bias_only && c->biases.n == 0) {
    if ((code = place_if(g, &c->biases, affine->biases, in->shape.c))) return code;
    return mafat_value_copy(g, out, in);
  }
  if (c) {
    if ((code = put_parts(g, c, affine, in->shape.c))) return code;
    return mafat_value_copy(g, out, in);
  }
  l = mafat_graph_begin(g, MAFAT_BATCHNORM, in);
  code = l ? put_parts(g, constants_of(g, l), affine, in->shape.c) : MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK) code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output(g, out, l, &in->view);
}

/* ---- activations ---- */

static bool can_activate(const struct mafat_layer *l)
{
  bool computes = mafat_layer_convolves(l) || mafat_layer_blends(l);
  return computes && l->activation.kind == MAFAT_LINEAR;
}

int mafat_graph_activate(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, struct mafat_activating activation)
{
  struct mafat_layer *l = mafat_value_is_integer(g, in) ? NULL : mafat_graph_maker(g, in);
  if (l && can_activate(l)) {
    l->activation = activation;
    return mafat_value_copy(g, out, in);
  }
  l = mafat_graph_begin(g, MAFAT_ACTIVATION_LAYER, in);
  if (!l) return MAFAT_EUNSUPPORTED;
  l->activation = activation;
  int code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output(g, out, l, &in->view);
}
