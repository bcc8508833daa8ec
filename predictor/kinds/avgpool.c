/* Counts the work of global average pooling. Called by cost/work.c through the table in kinds.c.
 * Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

static void count_avgpool(struct mafat_counting *c)
{
  mafat_count(c, MAFAT_TERM_GATHERED, mafat_counting_inputs(c));
}

const struct mafat_predictor_kind mafat_predictor_avgpool = {.count = count_avgpool};
