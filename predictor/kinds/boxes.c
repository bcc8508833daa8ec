#include "predictor/kinds/boxes.h"

#include "predictor/cost/counting.h"
#include "predictor/kinds/kind.h"
#include "predictor/scratch.h"

/* All channels of a pixel, gathered. */
static bool plan_boxes(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  size_t channels = (size_t)r->network->layers[r->layer].in.c;
  return mafat_scratch_append(&s->slot_bytes, &s->pixel_offset, channels, sizeof(float));
}

static void count_pixels(struct mafat_counting *c)
{
  double outputs = mafat_counting_outputs(c);
  mafat_count_rows(c, MAFAT_TERM_CLASS_VALUES, outputs, outputs * 4, outputs * 4);
}

static void count_yolo(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  double outputs = mafat_counting_outputs(c);
  if (!mafat_boxes_run_by_rows(l)) {
    count_pixels(c);
    return;
  }
  mafat_count(c, MAFAT_TERM_CLASS_VALUES, outputs * 4 / (l->head.classes + l->head.coords + 1));
  mafat_count_rows(c, MAFAT_TERM_BOX_VALUES, outputs, outputs * 4, outputs * 4);
}

const struct mafat_predictor_kind mafat_predictor_region = {.scratch = plan_boxes, .count = count_pixels};
const struct mafat_predictor_kind mafat_predictor_yolo = {.scratch = plan_boxes, .count = count_yolo};
