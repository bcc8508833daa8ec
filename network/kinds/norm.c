/* Shapes and geometry of kind batchnorm: batch normalization as a layer of its own. Called by api/,
 * formats/, predictor/, programs/make_weights, runner/ and search/ through mafat_kind_batchnorm,
 * its entry in the table of kinds (network/kind.h). infer sets the layer's output shape; nothing is
 * allocated. */
#include "network/kinds/kinds.h"

static struct mafat_weight_counts counts(const struct mafat_layer *l)
{
  return (struct mafat_weight_counts){0, 3 * (uint64_t)l->in.c, 0};
}

const struct mafat_kind mafat_kind_batchnorm = {
    .name = "batchnorm",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .in_place = true,
    .weights = MAFAT_WEIGHTS_AFFINE,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
    .counts = counts,
};
