/* Shapes and geometry of kind input: an input of the network; `in` and `out` are its shape. Called
 * by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_input, its entry in the table of kinds (network/kind.h). infer sets the layer's output
 * shape; nothing is allocated. */
#include "network/kinds/kinds.h"

const struct mafat_kind mafat_kind_input = {
    .name = "input",
    .along = MAFAT_ALONG_ROWS,
    .input = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
};
