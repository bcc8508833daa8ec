/* Counts the work of activation layers. Called by cost/work.c through the table in kinds.c.
 * Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"

static void count_activation(struct mafat_counting *c)
{
  double outputs = mafat_counting_outputs(c), bytes = mafat_counting_out_bytes(c);
  if (mafat_counting_is_integer(c)) {
    mafat_count_rows(c, MAFAT_TERM_INTEGER_MAPPED, outputs * mafat_counting_lookup(c), bytes,
                     bytes);
    return;
  }
  double price = mafat_counting_activation_price(&c->layer->activation);
  mafat_count_rows(c, mafat_counting_activation_term(&c->layer->activation),
                   price > 0 ? outputs * price : outputs, bytes, bytes);
}

const struct mafat_predictor_kind mafat_predictor_activation = {.count = count_activation};
