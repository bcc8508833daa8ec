/* The largest of each window. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_maxpool = {
    .name = "maxpool",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .pools = true,
};
