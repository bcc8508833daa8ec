/* Every pixel several times. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_upsample = {
    .name = "upsample",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
};
