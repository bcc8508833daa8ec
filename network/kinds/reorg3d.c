/* Shapes and geometry of kind reorg3d: space to depth, where pixel (dy, dx) of an s x s square and
 * channel c become channel (dy * s + dx) * C + c of C * s * s. Called by api/, formats/,
 * predictor/, programs/make_weights, runner/ and search/ through mafat_kind_reorg3d, its entry in
 * the table of kinds (network/kind.h). infer sets the layer's output shape; nothing is
 * allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  int s = l->factor;
  if (l->in.h % s || l->in.w % s)
    return mafat_kind_refuse(context, "expects a map divisible by stride");
  return mafat_kind_put_out(l, context, l->in.h / s, l->in.w / s, (long long)l->in.c * s * s);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  (void)operand, (void)axis_y;
  return mafat_span(out.begin * l->factor, out.end * l->factor);
}

const struct mafat_kind mafat_kind_reorg3d = {
    .name = "reorg3d",
    .along = MAFAT_ALONG_MAP,
    .infer = infer,
    .in_span = in_span,
};
