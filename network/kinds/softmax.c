/* Shapes and geometry of kind softmax: probabilities over the whole input or equal parts of it.
 * Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_softmax, its entry in the table of kinds (network/kind.h). infer sets the layer's
 * output shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  if (mafat_shape_elements(l->in) % l->n_softmaxes)
    return mafat_kind_refuse(context, "expects groups that divide its inputs");
  return mafat_kind_like_input(l, context);
}

const struct mafat_kind mafat_kind_softmax = {
    .name = "softmax",
    .classifies = true,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
};
