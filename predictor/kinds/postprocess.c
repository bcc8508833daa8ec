/* Plans the scratch and counts the work of detection postprocessing (non-maximum suppression).
 * Called by cost/work.c and schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/schedule/scratch.h"

enum { CORNERS = 4, KEPT_BYTES = 16 /* record of a detection */ };

/* Scratch: corners, best score and index of each anchor, and the detections that are kept. */
static bool plan_postprocess(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = &r->network->layers[r->layer];
  const struct mafat_postprocess *p = l->postprocess;
  size_t anchors = (size_t)l->in.w, added = (size_t)mafat_min(p->detections_per_class, l->in.w);
  return mafat_scratch_append_floats(&s->shared_bytes, &s->boxes_offset, anchors * CORNERS) &&
         mafat_scratch_append_floats(&s->shared_bytes, &s->scores_offset, anchors) &&
         mafat_scratch_append(&s->shared_bytes, &s->order_offset, anchors, sizeof(uint32_t)) &&
         mafat_scratch_append(&s->shared_bytes, &s->kept_offset, (size_t)p->detections + added,
                              KEPT_BYTES);
}

/* Each score is read at an arbitrary position. Sorting is not counted, as few anchors are
 * sorted. */
static void count_postprocess(struct mafat_counting *c)
{
  mafat_count(c, MAFAT_TERM_GATHERED,
              mafat_counting_in_bytes(c) / (double)sizeof(float) + mafat_counting_outputs(c));
}

const struct mafat_predictor_kind mafat_predictor_postprocess = {.scratch = plan_postprocess,
                                                                 .count = count_postprocess};
