/* Plans the scratch and counts the work of locally connected layers. Called by cost/work.c and
 * schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/schedule/scratch.h"

static void count_local(struct mafat_counting *c)
{
  mafat_count_dense(c, 1, mafat_counting_width(c).panels);
}

const struct mafat_predictor_kind mafat_predictor_local = {.scratch = mafat_scratch_plan_flat,
                                                           .count = count_local};
