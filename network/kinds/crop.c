/* The middle of a map. */
#include "network/kinds/kinds.h"

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)operand;
  int offset = axis_y ? l->crop_y : l->crop_x;
  return mafat_span(out.begin + offset, out.end + offset);
}

const struct mafat_kind mafat_kind_crop = {
    .name = "crop",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .in_span = in_span,
};
