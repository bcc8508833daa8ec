/* Probabilities, of the whole input or of equal parts of it. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_softmax = {
    .name = "softmax",
    .classifies = true,
    .in_span = mafat_kind_whole_span,
};
