/* Plans the scratch and counts the work of normalizations and softmax over channels. Called by
 * cost/work.c and schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/schedule/scratch.h"

enum {
  /* costs; the unit is the cost of gathering one float */
  PASSES = 3,         /* for each value: it is gathered, summed and scattered */
  EXPONENTIAL = 3,    /* for each value's exponential, if the layer needs it */
  PIXEL = 8           /* fixed cost of each pixel */
};

static void count_normalize(struct mafat_counting *c)
{
  enum mafat_normalize_how how = c->layer->normalize->how;
  bool exponential = how == MAFAT_NORMALIZE_SOFTMAX || how == MAFAT_NORMALIZE_LOG_SOFTMAX;
  double values = mafat_counting_outputs(c) * (PASSES + (exponential ? EXPONENTIAL : 0));
  double bytes = mafat_counting_out_bytes(c);
  mafat_count_rows(c, MAFAT_TERM_GATHERED, values + mafat_counting_pixels(c) * PIXEL, bytes, bytes);
}

const struct mafat_predictor_kind mafat_predictor_normalize = {.scratch = mafat_scratch_plan_lanes,
                                                               .count = count_normalize};
