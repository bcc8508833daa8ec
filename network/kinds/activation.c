/* An activation as a layer of its own. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_activation = {
    .name = "activation",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};
