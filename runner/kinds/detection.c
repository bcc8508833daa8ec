/* The first YOLO's head: a list for the whole map. */
#include "runner/kinds/kind.h"

static int run_detection(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  mafat_tensors_flatten(w->tensors, mafat_layer_sources(l), l->in, flat);
  size_t classes = (size_t)l->head.classes;
  for (size_t cell = 0; l->head.softmax && cell < (size_t)l->head.side * (size_t)l->head.side; cell++)
    w->kernels->softmax(flat + cell * classes, flat + cell * classes, classes, 1);
  mafat_tensors_unflatten(w->tensors, step->layer, l->out, flat);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_detection = {.run = run_detection, .sharing = MAFAT_ALONE};
