/* Batch normalization as a layer of its own. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_batchnorm = {
    .name = "batchnorm",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .weights = MAFAT_WEIGHTS_AFFINE,
    .in_span = mafat_kind_same_span,
};
