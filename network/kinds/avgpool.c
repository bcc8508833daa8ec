/* The mean of each channel. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_avgpool = {
    .name = "avgpool",
    .along = MAFAT_ALONG_FILTERS,
    .in_span = mafat_kind_whole_span,
};
