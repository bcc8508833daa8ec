/* Shapes and geometry of kind crop: the middle of a map. Called by api/, formats/, predictor/,
 * programs/make_weights, runner/ and search/ through mafat_kind_crop, its entry in the table of
 * kinds (network/kind.h). infer sets the layer's output shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

/* On entry, l->out is the requested size of the output. */
MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  struct mafat_shape wanted = l->out;
  if (wanted.h > l->in.h || wanted.w > l->in.w)
    return mafat_kind_refuse(context, "is larger than its input");
  l->crop_y = (l->in.h - wanted.h) / 2;
  l->crop_x = (l->in.w - wanted.w) / 2;
  return mafat_kind_put_out(l, context, wanted.h, wanted.w, l->in.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  (void)operand;
  int offset = axis_y ? l->crop_y : l->crop_x;
  return mafat_span(out.begin + offset, out.end + offset);
}

const struct mafat_kind mafat_kind_crop = {
    .name = "crop",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .infer = infer,
    .in_span = in_span,
};
