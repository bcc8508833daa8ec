/* The largest of each window. */
#include "network/kinds/kinds.h"

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)operand;
  return mafat_span_clip(mafat_span_window(out, l->size, l->stride, l->pad), axis_y ? l->in.h : l->in.w);
}

const struct mafat_kind mafat_kind_maxpool = {
    .name = "maxpool",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .pools = true,
    .in_span = in_span,
};
