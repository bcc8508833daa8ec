/* The channels of each pixel normalized among themselves. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_normalize = {
    .name = "normalize",
    .along = MAFAT_ALONG_MAP,
    .apart = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};
