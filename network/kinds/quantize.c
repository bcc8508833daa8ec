/* The same elements of another type, or as numbers of another scale: floats to whole numbers, these to floats, and to
 * others. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_quantize = {
    .name = "quantize",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .apart = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};
