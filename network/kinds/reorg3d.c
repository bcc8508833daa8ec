/* Shapes and geometry of kind reorg3d: space to depth, which keeps the pixels of a channel in
 * order. Called by the readers, predictor/ and runner/ through its row (network/kind.h). Its infer
 * fills in the layer; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h"

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
