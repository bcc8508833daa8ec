/* Counts the work of resizing with interpolation. Called by cost/work.c through the table in
 * kinds.c. Allocates nothing. */
#include "network/resample.h"

#include "predictor/cost/counting.h"
#include "predictor/kind.h"

/* Cost of an output element, relative to copying it. */
static const double MEANS = 1.5; /* linear: three means of two pixels each */
static const double SUMS = 6;    /* cubic: five sums of four products */

static void count_resample(struct mafat_counting *c)
{
  static const double works[MAFAT_N_INTERPOLATIONS] = {1, MEANS, SUMS};
  double outputs = mafat_counting_outputs(c);
  mafat_count_rows(c, MAFAT_TERM_MOVED, outputs * works[c->layer->resample->interpolation],
                   mafat_counting_in_bytes(c), mafat_counting_out_bytes(c));
}

const struct mafat_predictor_kind mafat_predictor_resample = {.count = count_resample};
