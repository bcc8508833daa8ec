#include "predictor/cost/counting.h"
#include "predictor/kinds/kind.h"

static void count_upsample(struct mafat_counting *c)
{
  double outputs = mafat_counting_outputs(c), bytes = outputs * 4;
  mafat_count_rows(c, MAFAT_TERM_GATHERED, outputs, bytes / 4, bytes);
}

const struct mafat_predictor_kind mafat_predictor_upsample = {.count = count_upsample};
