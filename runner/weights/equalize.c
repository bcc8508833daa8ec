/* Chooses and applies factors that equalize the channels of maps before quantization. Called by
 * api/packing (calibrate.c, measure.c, numbering.c). mafat_equalized_open allocates factors and
 * ranges of each layer, mafat_equalized_close frees them; otherwise touches only its arguments. */
#include "runner/weights/equalize.h"

#include <math.h>
#include <stdlib.h>

/* ---- maps that can be equalized ---- */

/* True if the layer's activation f has f(a x) = a f(x) for any a > 0. */
static bool lets_factors_through(const struct mafat_layer *l)
{
  enum mafat_activation f = l->activation.kind;
  return f == MAFAT_LINEAR || f == MAFAT_RELU || f == MAFAT_LEAKY || f == MAFAT_SLOPED;
}

static bool reads_whole(const struct mafat_network *n, const struct mafat_layer *l, int tensor)
{
  const struct mafat_sources *s = mafat_layer_sources(l);
  return l->n_operands == 1 && mafat_sources_count(s) == 1 && s->list[0].tensor == tensor &&
         s->list[0].first == 0 && s->list[0].n == mafat_network_tensor_shape(n, tensor).c &&
         s->list[0].n_rows == mafat_network_tensor_shape(n, tensor).h;
}

/* True if the layer's weights can be divided by a factor for each input channel: it is an ungrouped
 * or a depthwise convolution. */
static bool can_divide(const struct mafat_layer *l)
{
  return mafat_layer_convolves(l) && mafat_layer_has_panels(l) && !mafat_layer_is_flat(l) &&
         (mafat_layer_is_depthwise(l) || !mafat_layer_is_grouped(l));
}

static bool reads(const struct mafat_sources *s, int tensor)
{
  for (int i = 0; i < mafat_sources_count(s); i++)
    if (s->list[i].tensor == tensor) return true;
  return false;
}

static bool is_output(const struct mafat_network *n, int tensor)
{
  const struct mafat_layer *last = &n->layers[n->n_layers - 1];
  for (int i = 0; i < n->n_outputs; i++)
    if (reads(&n->outputs[i].sources, tensor)) return true;
  return mafat_layer_is_alias(last) ? reads(mafat_layer_sources(last), tensor)
                                    : tensor == n->n_layers - 1;
}

static bool can_equalize(const struct mafat_network *n, const bool *computes, int layer,
                         bool *depthwise)
{
  const struct mafat_layer *l = &n->layers[layer];
  bool read = false;
  *depthwise = true;
  if (!computes[layer] || !mafat_layer_convolves(l) || !mafat_layer_has_panels(l) ||
      !lets_factors_through(l) || is_output(n, layer))
    return false;
  for (int r = 0; r < n->n_layers; r++) {
    const struct mafat_layer *by = &n->layers[r];
    if (mafat_layer_is_alias(by) || !mafat_reads_meet(mafat_layer_reads(by), layer)) continue;
    if (!computes[r] || !can_divide(by) || !reads_whole(n, by, layer)) return false;
    read = true;
    *depthwise = *depthwise && mafat_layer_is_depthwise(by);
  }
  return read;
}

static bool add(struct mafat_equalized *e, int layer, int channels)
{
  float *factors = e->factors[layer] = malloc((size_t)channels * sizeof *factors);
  e->ranges[layer] = calloc((size_t)channels, sizeof **e->ranges);
  for (int c = 0; factors && c < channels; c++) factors[c] = 1;
  return factors && e->ranges[layer];
}

int mafat_equalized_open(struct mafat_equalized *e, const struct mafat_network *n,
                         const struct mafat_activations *a)
{
  size_t capacity = (size_t)mafat_network_n_tensors(n);
  bool *computes = calloc(capacity, sizeof *computes), complete;
  *e = (struct mafat_equalized){.n_layers = n->n_layers,
                                .factors = calloc(capacity, sizeof *e->factors),
                                .ranges = calloc(capacity, sizeof *e->ranges),
                                .depthwise = calloc(capacity, sizeof *e->depthwise)};
  complete = computes && e->factors && e->ranges && e->depthwise;
  for (int i = 0; complete && i < a->n; i++) computes[a->list[i].tensor] = a->list[i].computes;
  for (int l = 0; complete && l < n->n_layers; l++)
    if (can_equalize(n, computes, l, &e->depthwise[l])) complete = add(e, l, n->layers[l].out.c);
  free(computes);
  return complete ? MAFAT_OK : MAFAT_ENOMEM;
}

void mafat_equalized_close(struct mafat_equalized *e)
{
  for (int l = 0; e->factors && e->ranges && l < e->n_layers; l++) {
    free(e->factors[l]);
    free(e->ranges[l]);
  }
  free(e->factors);
  free(e->ranges);
  free(e->depthwise);
  *e = (struct mafat_equalized){0};
}

/* ---- factors ---- */

void mafat_equalized_see(struct mafat_equalized *e, int layer, struct mafat_shape shape,
                         const float *chw)
{
  size_t pixels = (size_t)shape.h * (size_t)shape.w;
  for (int c = 0; e->factors[layer] && c < shape.c; c++, chw += pixels)
    mafat_range_see(&e->ranges[layer][c], chw, pixels);
}

static float magnitude(struct mafat_range r)
{
  return (float)fmax(-r.least, r.most);
}

static void choose(float *factors, const struct mafat_range *ranges, int channels, float share)
{
  /* relative to the largest channel's magnitude. Smaller magnitudes are replaced by this one, which
   * limits the factors of channels that are nearly 0 */
  const float least = 0x1p-12f;
  float most = 0;
  for (int c = 0; c < channels; c++) most = fmaxf(most, magnitude(ranges[c]));
  for (int c = 0; c < channels; c++)
    factors[c] = most > 0 ? powf(1 / fmaxf(magnitude(ranges[c]) / most, least), share) : 1;
}

void mafat_equalized_choose(struct mafat_equalized *e, const struct mafat_network *n, float share)
{
  for (int l = 0; l < e->n_layers; l++)
    if (e->factors[l])
      choose(e->factors[l], e->ranges[l], n->layers[l].out.c,
             share > 0 && e->depthwise[l] ? 1 : share);
}

struct mafat_range mafat_equalized_range(const struct mafat_equalized *e, int layer, int channels)
{
  struct mafat_range all = {0, 0};
  for (int c = 0; c < channels; c++) {
    struct mafat_range one = e->ranges[layer][c];
    double factor = (double)e->factors[layer][c];
    all = mafat_range_join(all, (struct mafat_range){one.least * factor, one.most * factor});
  }
  return all;
}

void mafat_equalized_multiply(const float *factors, struct mafat_shape shape, float *chw)
{
  size_t pixels = (size_t)shape.h * (size_t)shape.w;
  for (size_t i = 0; factors && i < pixels * (size_t)shape.c; i++) chw[i] *= factors[i / pixels];
}

void mafat_equalized_divide(const float *factors, struct mafat_shape shape, float *chw)
{
  size_t pixels = (size_t)shape.h * (size_t)shape.w;
  for (size_t i = 0; factors && i < pixels * (size_t)shape.c; i++) chw[i] /= factors[i / pixels];
}
