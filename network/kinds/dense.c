/* A fully connected layer: a convolution whose window is its whole input. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_connected = {
    .name = "connected",
    .along = MAFAT_ALONG_FILTERS | MAFAT_ALONG_INPUTS,
    .weights = MAFAT_WEIGHTS_PANELS,
    .flat = true,
    .in_span = mafat_kind_whole_span,
};
