/* The middle of a map. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_crop = {
    .name = "crop",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
};
