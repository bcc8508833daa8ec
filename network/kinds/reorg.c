/* Shapes and geometry of kind reorg: blocks of pixels become channels of one pixel, or the reverse,
 * in Darknet's order. Called by api/, formats/, predictor/, programs/make_weights, runner/ and
 * search/ through mafat_kind_reorg, its entry in the table of kinds (network/kind.h). infer sets
 * the layer's output shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  if (l->extra) return mafat_kind_put_out(l, context, 1, 1, mafat_shape_elements(l->in) + l->extra);
  int s = l->factor, area = s * s;
  if (l->in.c % area || (!l->reverse && (l->in.h % s || l->in.w % s)))
    return mafat_kind_refuse(
        context, "expects channels divisible by stride squared, and a map divisible by stride");
  if (l->reverse)
    return mafat_kind_put_out(l, context, (long long)l->in.h * s, (long long)l->in.w * s,
                              l->in.c / area);
  return mafat_kind_put_out(l, context, l->in.h / s, l->in.w / s, (long long)l->in.c * area);
}

const struct mafat_kind mafat_kind_reorg = {
    .name = "reorg",
    .infer = infer,
    .in_span = mafat_kind_whole_span,
};
