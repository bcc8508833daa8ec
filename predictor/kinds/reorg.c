/* Counts the work of reorg layers. Called by cost/work.c through the table in kinds.c. Allocates
 * nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

static void count_reorg(struct mafat_counting *c)
{
  mafat_count(c, MAFAT_TERM_REORDERED, mafat_counting_outputs(c));
}

const struct mafat_predictor_kind mafat_predictor_reorg = {.count = count_reorg};
