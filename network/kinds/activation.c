/* Shapes and geometry of kind activation: an activation as a layer of its own. Called by the
 * readers, predictor/ and runner/ through its row (network/kind.h). Its infer fills in the layer;
 * nothing is allocated. */
#include "network/network.h"

#include "network/kinds/kinds.h"

/* Checks TFLite's requantization: some combinations have no multiplier. */
static const char *numbers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  const struct mafat_quantization in = mafat_network_in_quantization(n, layer, 0),
                                  *out = &l->quantization;
  const char *fault = mafat_kind_numbers_alone(n, layer);
  if (fault || out->rounding == MAFAT_REQUANTIZE_EVEN) return fault;
  switch (l->activation.kind) {
  case MAFAT_LINEAR: return NULL;
  case MAFAT_LOGISTIC:
    return out->scale == 1 / 256.0f && out->zero == 0
               ? NULL
               : "of integers puts out steps of 1/256 from the least one on";
  case MAFAT_EXACT_TANH:
    return out->scale == 1 / 128.0f && out->zero == MAFAT_SIGNED_TO_BYTE
               ? NULL
               : "of integers puts out steps of 1/128 around the middle one";
  case MAFAT_HARD_SWISH:
    return mafat_quantization_can_hard_swish(&in, out) ? NULL : MAFAT_KIND_FAR_SCALES;
  case MAFAT_SLOPED:
  case MAFAT_STEEP:
    return mafat_multiplier_can((double)(in.scale / out->scale)) &&
                   mafat_multiplier_can((double)(in.scale * l->activation.a / out->scale))
               ? NULL
               : MAFAT_KIND_FAR_SCALES;
  default: return "is not run on integers";
  }
}

const struct mafat_kind mafat_kind_activation = {
    .name = "activation",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .mergeable = true,
    .in_place = true,
    .infer = mafat_kind_like_input,
    .in_span = mafat_kind_same_span,
    .numbers = numbers,
};
