#include "predictor/cost/counting.h"
#include "predictor/fusion.h"
#include "predictor/kinds/kind.h"

/* Where a convolution stands inside, its outputs were just stored; the other map is
 * older. */
static void count_shortcut(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  bool fused = c->inner >= 0;
  double outputs = mafat_counting_outputs(c);
  int passes = fused || mafat_fusion_adds_alike(l) ? 1 : 2 + (l->activation != MAFAT_LINEAR);
  mafat_count_rows(c, MAFAT_TERM_MOVED, outputs * passes, fused ? outputs * 4 : outputs * 8, fused ? 0 : outputs * 4);
  mafat_count_activation(c, outputs);
}

const struct mafat_predictor_kind mafat_predictor_shortcut = {.count = count_shortcut};
