/* Shapes and geometry of kind quantize, whose layers convert between floats and integers, or
 * integers between scales. Called by api/, formats/, predictor/, programs/make_weights, runner/ and
 * search/ through mafat_kind_quantize, its entry in the table of kinds (network/kind.h). infer sets
 * the layer's output shape; nothing is allocated. */
#include "network/network.h"

#include "network/kinds/kinds.h"

/* Returns NULL if the layer can run on integers, else the reason why not. Only a conversion from
 * integers to integers needs a multiplier. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (l->out_type == MAFAT_F32 || mafat_network_in_type(n, layer) == MAFAT_F32 ||
      !mafat_requantizes_by_multiplier(&l->quantization))
    return NULL;
  const struct mafat_quantization in = mafat_network_in_quantization(n, layer, 0);
  return mafat_multiplier_can(mafat_requantizing_factor(&in, &l->quantization))
             ? NULL
             : MAFAT_KIND_FAR_SCALES;
}

const struct mafat_kind mafat_kind_quantize = {
    .name = "quantize",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .mergeable = true,
    .in_place = true,
    .apart = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
    .numbers = check_integers,
};
