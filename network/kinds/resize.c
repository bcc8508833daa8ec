/* Every pixel several times. */
#include "network/kinds/kinds.h"

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)operand, (void)axis_y;
  return mafat_span(out.begin / l->stride, (out.end - 1) / l->stride + 1);
}

const struct mafat_kind mafat_kind_upsample = {
    .name = "upsample",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .in_span = in_span,
};
