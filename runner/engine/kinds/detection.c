/* Activates and decodes the head of the first YOLO, whose output is one list for the whole map:
 * classes of all cells, then objectness of all boxes, then boxes. The executor and
 * runner/detect/detect.c call it through the table in kinds.c. Writes the step's output and scratch
 * in the arena, and reports boxes to decoding.h; allocates nothing. */
#include "runner/engine/decoding.h"
#include "runner/engine/kinds/kind.h"

static int run_detection(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  mafat_tensors_flatten(w->tensors, mafat_layer_sources(l), l->in, flat);
  size_t classes = (size_t)l->head.classes;
  for (size_t cell = 0; l->head.softmax && cell < (size_t)l->head.side * (size_t)l->head.side;
       cell++)
    w->kernels->softmax(flat + cell * classes, flat + cell * classes, classes, 1);
  mafat_tensors_unflatten(w->tensors, step->layer, l->out, flat);
  return MAFAT_OK;
}

/* Returns element i of the head's output in CHW order. */
static float flat_at(const struct mafat_decoding *d, int64_t i)
{
  struct mafat_shape out = d->layer->out;
  int64_t row = i / out.w;
  return mafat_decoding_at(d, (int)(row / out.h), (int)(row % out.h), (int)(i % out.w));
}

/* Decodes one box of one cell. In other heads Darknet ignores boxes whose objectness is below the
 * threshold, and corrects boxes for the letterbox. Here it does neither. */
static void decode_box(struct mafat_decoding *d, int cell, int box)
{
  const struct mafat_head *h = &d->layer->head;
  int64_t n_cells = (int64_t)h->side * h->side, number = (int64_t)cell * h->n_anchors + box;
  float objectness = flat_at(d, n_cells * h->classes + number);
  int64_t at = n_cells * (h->classes + h->n_anchors) + number * 4;
  double w = (double)flat_at(d, at + 2), height = (double)flat_at(d, at + 3);
  struct mafat_rectangle b = {.x = (flat_at(d, at) + (float)(cell % h->side)) / (float)h->side,
                              .y = (flat_at(d, at + 1) + (float)(cell / h->side)) / (float)h->side,
                              .w = (float)(h->sqrt ? w * w : w),
                              .h = (float)(h->sqrt ? height * height : height)};
  if (!mafat_decoding_box(d, b, true)) return;
  for (int class = 0; class < h->classes; class++)
    mafat_decoding_class(d, class, objectness * flat_at(d, (int64_t)cell * h->classes + class));
}

static void decode_detection(struct mafat_decoding *d)
{
  const struct mafat_head *h = &d->layer->head;
  for (int cell = 0; cell < h->side * h->side; cell++)
    for (int box = 0; box < h->n_anchors; box++) decode_box(d, cell, box);
}

const struct mafat_runner_kind mafat_runner_detection = {
    .run = run_detection, .sharing = MAFAT_ALONE, .decode = decode_detection};
