/* Shapes and geometry of kind input: an input of the network; `in` and `out` are its shape. Called
 * by the readers, predictor/ and runner/ through its row (network/kind.h). Its infer fills in the
 * layer; nothing is allocated. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_input = {
    .name = "input",
    .along = MAFAT_ALONG_ROWS,
    .input = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};
