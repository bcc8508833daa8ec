/* A convolution with weights of its own for every pixel. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_local = {
    .name = "local",
    .weights = MAFAT_WEIGHTS_PIXELS,
    .in_span = mafat_kind_whole_span,
};
