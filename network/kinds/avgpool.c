/* Shapes and geometry of kind avgpool: the mean of each channel. Called by the readers,
 * predictor/ and runner/ through its row (network/kind.h). Its infer fills in the layer; nothing
 * is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h"

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
