/* Counts the work of constants that become tensors. Called by cost/work.c through the table in
 * kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

/* Elements are converted one by one, from arbitrary positions. */
static void count_constant(struct mafat_counting *c)
{
  mafat_count(c, MAFAT_TERM_GATHERED, mafat_counting_outputs(c));
}

const struct mafat_predictor_kind mafat_predictor_constant = {.count = count_constant};
