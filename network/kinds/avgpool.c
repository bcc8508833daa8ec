/* Shapes and geometry of kind avgpool: the mean of each channel. Called by api/, formats/,
 * predictor/, programs/make_weights, runner/ and search/ through mafat_kind_avgpool, its entry in
 * the table of kinds (network/kind.h). infer sets the layer's output shape; nothing is
 * allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  return mafat_kind_put_out(l, context, 1, 1, l->in.c);
}

const struct mafat_kind mafat_kind_avgpool = {
    .name = "avgpool",
    .along = MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
};
