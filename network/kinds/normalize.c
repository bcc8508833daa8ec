/* The channels of each pixel normalized among themselves. */
#include "network/network.h"

#include "network/kinds/kinds.h"

static const char *numbers(const struct mafat_network *n, int layer)
{
  static const float step = 1 / 256.0f;
  const struct mafat_layer *l = &n->layers[layer];
  const char *fault = mafat_kind_numbers_alone(n, layer);
  if (fault || l->quantization.rounding == MAFAT_REQUANTIZE_EVEN) return fault;
  if (l->normalize->how != MAFAT_NORMALIZE_SOFTMAX) return "is not run on whole numbers";
  return l->quantization.scale == step && l->quantization.zero == 0 ? NULL : "of whole numbers puts out steps of 1/256 from the least one on";
}

const struct mafat_kind mafat_kind_normalize = {
    .name = "normalize",
    .along = MAFAT_ALONG_MAP,
    .apart = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
    .numbers = numbers,
};
