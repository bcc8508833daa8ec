/* Layers that sum over the whole input in Darknet's CHW order: connected, local. */
#include "runner/layers/convolution.h"

/* A connected layer is a 1x1 convolution of one pixel whose channels are the
 * input in Darknet's order: one piece of any length. */
int mafat_layers_connect(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct convolution c;
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  convolution_open(&c, w, step);
  const float *row = flat + step->channels.begin;
  int inputs = (int)w->scratch->flat_floats;
  struct mafat_conv_piece piece = {&row, mafat_span_size(step->channels), 0};
  for (int unit; (unit = mafat_team_take(w->team, w->index, convolution_n_panels(&c))) >= 0;) {
    struct mafat_span filters = convolution_panel(&c, unit);
    struct mafat_conv_call call = {.pieces = &piece, .n_pieces = 1, .n_rows = 1, .n_cols = 1,
                                   .size = 1, .stride = 1, .activation = l->activation,
                                   .start = step->channels.begin == 0,
                                   .finish = step->channels.end == inputs};
    struct mafat_weights_slice slice;
    int code = mafat_weights_slice(w->weights, step->layer, filters, step->channels, &slice);
    if (code) return code;
    call.n_segments = convolution_point_at_output(&c, filters, 0, 1, call.segments);
    call.weights = slice.weights;
    call.scale = slice.scale;
    call.bias = slice.bias;
    call.width = slice.width;
    w->kernels->conv(&call);
    mafat_weights_release(w->weights, &slice);
  }
  return MAFAT_OK;
}

/* Weights of their own at every location; rare, so plain loops: products are
 * rounded in both classes. */
int mafat_layers_local(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  struct mafat_weights_slice slice;
  if (w->index != 0) return MAFAT_OK;
  int code = mafat_weights_slice(w->weights, step->layer, step->filters, step->channels, &slice);
  if (code) return code;
  mafat_tensors_flatten(w->tensors, &l->sources, l->in, flat);
  const float *weight = slice.weights;
  for (int oy = 0; oy < l->out.h; oy++)
    for (int ox = 0; ox < l->out.w; ox++)
      for (int f = 0; f < l->filters; f++) {
        float sum = 0;
        for (int c = 0; c < l->in.c; c++)
          for (int ky = 0; ky < l->size; ky++)
            for (int kx = 0; kx < l->size; kx++, weight++) {
              int y = oy * l->stride + ky - l->pad, x = ox * l->stride + kx - l->pad;
              if (y < 0 || y >= l->in.h || x < 0 || x >= l->in.w) continue;
              sum += *weight * flat[((size_t)c * (size_t)l->in.h + (size_t)y) * (size_t)l->in.w + (size_t)x];
            }
        float *out = mafat_tensors_element(w->tensors, step->layer, f, oy, ox);
        *out = sum + slice.bias[((size_t)f * (size_t)l->out.h + (size_t)oy) * (size_t)l->out.w + (size_t)ox];
        w->kernels->activate(out, 1, l->activation);
      }
  mafat_weights_release(w->weights, &slice);
  return MAFAT_OK;
}
