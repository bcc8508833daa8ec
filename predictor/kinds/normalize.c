#include "predictor/cost/counting.h"
#include "predictor/kinds/kind.h"
#include "predictor/scratch.h"

/* Each value is taken to its pixel's others and put back; most go through an exponential. */
static void count_normalize(struct mafat_counting *c)
{
  double outputs = mafat_counting_outputs(c), bytes = mafat_counting_out_bytes(c);
  mafat_count_rows(c, MAFAT_TERM_CLASS_VALUES, outputs, bytes, bytes);
}

const struct mafat_predictor_kind mafat_predictor_normalize = {.scratch = mafat_scratch_plan_lanes, .count = count_normalize};
