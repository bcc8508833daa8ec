/* Shapes and geometry of kind quantize: converts elements between floats and integers, and integers
 * between scales. Called by the readers, predictor/ and runner/ through its row (network/kind.h).
 * Its infer fills in the layer; nothing is allocated. */
#include "network/network.h"

#include "network/kinds/kinds.h"

/* Conversions from or to floats support any scale. */
static const char *numbers(const struct mafat_network *n, int layer)
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
    .numbers = numbers,
};
