#include "predictor/cost/counting.h"
#include "predictor/kind.h"

/* Element by element, from numbers that may lie anywhere. */
static void count_constant(struct mafat_counting *c)
{
  mafat_count(c, MAFAT_TERM_GATHERED, mafat_counting_outputs(c));
}

const struct mafat_predictor_kind mafat_predictor_constant = {.count = count_constant};
