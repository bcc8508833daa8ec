/* Computes Darknet's softmax: over all elements of the input, or separately over each of
 * n_softmaxes equal groups of consecutive elements. Called by the executor through the table in
 * kinds.c. Writes the step's output and scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/kind.h"

static int run_softmax(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  mafat_tensors_flatten(w->tensors, mafat_layer_sources(l), l->in, flat);
  size_t n = w->scratch->flat_floats / (size_t)l->n_softmaxes;
  for (int g = 0; g < l->n_softmaxes; g++)
    w->kernels->softmax(flat + (size_t)g * n, flat + (size_t)g * n, n, l->temperature);
  mafat_tensors_unflatten(w->tensors, step->layer, l->out, flat);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_softmax = {.run = run_softmax, .sharing = MAFAT_ALONE};
