/* Counts the work of quantization and dequantization. Called by cost/work.c through the table in
 * kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

static void count_quantize(struct mafat_counting *c)
{
  bool looked_up = mafat_counting_is_integer(c) && c->layer->out_type != MAFAT_F32;
  mafat_count_rows(c, MAFAT_TERM_INTEGER_MAPPED,
                   mafat_counting_outputs(c) * (looked_up ? mafat_counting_lookup(c) : 1),
                   mafat_counting_in_bytes(c), mafat_counting_out_bytes(c));
}

const struct mafat_predictor_kind mafat_predictor_quantize = {.count = count_quantize};
