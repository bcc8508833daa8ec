/* Plans the scratch and counts the work of region and yolo heads. Called by cost/work.c and
 * schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/kinds/boxes.h"

#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/schedule/scratch.h"

/* Scratch: all channels of one pixel. */
static bool plan_boxes(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  size_t channels = (size_t)r->network->layers[r->layer].in.c;
  return mafat_scratch_append_floats(&s->slot_bytes, &s->pixel_offset, channels);
}

/* Counts a head that is computed pixel by pixel. */
static void count_pixels(struct mafat_counting *c)
{
  double bytes = mafat_counting_out_bytes(c);
  mafat_count_rows(c, MAFAT_TERM_CLASS_VALUES, mafat_counting_outputs(c), bytes, bytes);
}

static void count_yolo(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  double outputs = mafat_counting_outputs(c), bytes = mafat_counting_out_bytes(c);
  if (!mafat_boxes_run_by_rows(l)) {
    count_pixels(c);
    return;
  }
  /* Four values of each box (the box itself) cost more than the logistic function. */
  mafat_count(c, MAFAT_TERM_CLASS_VALUES, outputs * 4 / (l->head.classes + l->head.coords + 1));
  mafat_count_rows(c, MAFAT_TERM_BOX_VALUES, outputs, bytes, bytes);
}

const struct mafat_predictor_kind mafat_predictor_region = {.scratch = plan_boxes,
                                                            .count = count_pixels};
const struct mafat_predictor_kind mafat_predictor_yolo = {.scratch = plan_boxes,
                                                          .count = count_yolo};
const struct mafat_predictor_kind mafat_predictor_gaussian_yolo = {.scratch = plan_boxes,
                                                                   .count = count_yolo};
