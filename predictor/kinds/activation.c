#include "predictor/cost/counting.h"
#include "predictor/kinds/kind.h"

static void count_activation(struct mafat_counting *c)
{
  double outputs = mafat_counting_outputs(c), bytes = mafat_counting_out_bytes(c);
  bool costly = mafat_counting_is_costly(&c->layer->activation);
  mafat_count_rows(c, costly ? MAFAT_TERM_COSTLY : MAFAT_TERM_MOVED, outputs, bytes, bytes);
}

const struct mafat_predictor_kind mafat_predictor_activation = {.count = count_activation};
