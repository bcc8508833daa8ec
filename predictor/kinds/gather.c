/* Counts the work of table lookups. Called by cost/work.c through the table in kinds.c. Allocates
 * nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

static void count_gather(struct mafat_counting *c)
{
  double bytes = mafat_counting_out_bytes(c);
  mafat_count_rows(c, MAFAT_TERM_MOVED, mafat_counting_outputs(c), bytes, bytes);
}

const struct mafat_predictor_kind mafat_predictor_gather = {.count = count_gather};
