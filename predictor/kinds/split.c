/* Counts the work of layers with several outputs. Called by cost/work.c through the table in
 * kinds.c. Allocates nothing. */
#include "predictor/kinds/rearrange.h"

/* A step's box has pixels of the first output. So its work is multiplied by the elements of all
 * outputs (`all`), divided by the elements of the first output (`first`). */
static void count_split(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  double all = 0, first = (double)mafat_shape_elements(l->out);
  for (int k = 0; k < mafat_layer_n_outputs(l); k++)
    all += (double)mafat_shape_elements(mafat_layer_output_shape(l, k));
  mafat_count_rearranged(c, l->rearrange, all / first);
}

const struct mafat_predictor_kind mafat_predictor_split = {.count = count_split};
