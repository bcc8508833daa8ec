/* Counts the work of upsample layers. Called by cost/work.c through the table in kinds.c. Allocates
 * nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

static void count_upsample(struct mafat_counting *c)
{
  double outputs = mafat_counting_outputs(c), bytes = mafat_counting_out_bytes(c);
  mafat_count_rows(c, MAFAT_TERM_GATHERED, outputs, bytes / 4, bytes);
}

const struct mafat_predictor_kind mafat_predictor_upsample = {.count = count_upsample};
