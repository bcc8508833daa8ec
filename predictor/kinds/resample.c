#include "network/resample.h"

#include "predictor/cost/counting.h"
#include "predictor/kinds/kind.h"

/* Three means of two pixels each, by vectors, to a copy's loads and stores. */
static const double MEANS = 1.5;

static void count_resample(struct mafat_counting *c)
{
  bool linear = c->layer->resample->interpolation == MAFAT_INTERPOLATE_LINEAR;
  double outputs = mafat_counting_outputs(c);
  mafat_count_rows(c, MAFAT_TERM_MOVED, linear ? outputs * MEANS : outputs, mafat_counting_in_bytes(c),
                   mafat_counting_out_bytes(c));
}

const struct mafat_predictor_kind mafat_predictor_resample = {.count = count_resample};
