/* Two maps added, pixel by pixel. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_shortcut = {
    .name = "shortcut",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .adds = true,
};
