/* Computes locally connected layers: convolutions with separate weights for every output pixel.
 * They are rare, so these are plain loops; products are rounded before they are added. Called by
 * the executor through the table in kinds.c. Reads weights through runner/weights. Writes the
 * step's output and scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/kind.h"

static int run_local(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  struct mafat_weights_slice slice;
  int code = mafat_weights_slice(w->weights, step->layer, step->filters, step->channels, &slice);
  if (code) return code;
  mafat_tensors_flatten(w->tensors, mafat_layer_sources(l), l->in, flat);
  const float *weight = slice.weights;
  for (int oy = 0; oy < l->out.h; oy++)
    for (int ox = 0; ox < l->out.w; ox++)
      for (int f = 0; f < l->filters; f++) {
        float sum = 0;
        for (int c = 0; c < l->in.c; c++)
          for (int ky = 0; ky < l->window.y.size; ky++)
            for (int kx = 0; kx < l->window.x.size; kx++, weight++) {
              int y = mafat_taps_first(l->window.y, oy) + ky,
                  x = mafat_taps_first(l->window.x, ox) + kx;
              if (y < 0 || y >= l->in.h || x < 0 || x >= l->in.w) continue;
              sum += *weight *
                     flat[((size_t)c * (size_t)l->in.h + (size_t)y) * (size_t)l->in.w + (size_t)x];
            }
        float *out = mafat_tensors_element(w->tensors, step->layer, f, oy, ox);
        *out =
            sum +
            slice.bias[((size_t)f * (size_t)l->out.h + (size_t)oy) * (size_t)l->out.w + (size_t)ox];
        w->kernels->activate(out, 1, l->activation);
      }
  mafat_weights_release(w->weights, &slice);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_local = {.run = run_local, .sharing = MAFAT_ALONE};
