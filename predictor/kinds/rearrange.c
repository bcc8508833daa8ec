#include "network/rearrange.h"

#include "predictor/cost/counting.h"
#include "predictor/kinds/kind.h"

/* Fewer channels side by side are moved one by one. */
enum { WHOLE = 4 };

/* Pixels that are moved whole cost as a map that is copied; others are picked element by element. */
static void count_rearrange(struct mafat_counting *c)
{
  const struct mafat_rearrange *r = c->layer->rearrange;
  double elements = 0, picked = 0, outputs = mafat_counting_outputs(c), bytes = mafat_counting_out_bytes(c);
  for (int k = 0; k < r->n_parts; k++) {
    double n = (double)mafat_part_elements(&r->parts[k]);
    elements += n;
    if (mafat_part_run(&r->parts[k]) < WHOLE) picked += n;
  }
  double share = elements > 0 ? picked / elements : 0;
  mafat_count_rows(c, MAFAT_TERM_MOVED, outputs * (1 - share), bytes, bytes);
  mafat_count(c, MAFAT_TERM_GATHERED, outputs * share);
}

const struct mafat_predictor_kind mafat_predictor_rearrange = {.count = count_rearrange};
