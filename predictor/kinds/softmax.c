/* Plans the scratch and counts the work of Darknet's softmax layer. Called by cost/work.c and
 * schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/schedule/scratch.h"

static void count_softmax(struct mafat_counting *c)
{
  mafat_count(c, MAFAT_TERM_CLASS_VALUES, mafat_counting_outputs(c));
}

const struct mafat_predictor_kind mafat_predictor_softmax = {.scratch = mafat_scratch_plan_flat,
                                                             .count = count_softmax};
