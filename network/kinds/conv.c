/* A convolution: windows over the channels of a group, with their weights. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_convolutional = {
    .name = "convolutional",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS | MAFAT_ALONG_INPUTS,
    .weights = MAFAT_WEIGHTS_PANELS,
    .convolves = true,
};
