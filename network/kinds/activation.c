/* Shapes and geometry of kind activation: an activation as a layer of its own. Called by api/,
 * formats/, predictor/, programs/make_weights, runner/ and search/ through mafat_kind_activation,
 * its entry in the table of kinds (network/kind.h). infer sets the layer's output shape; nothing is
 * allocated. */
#include "network/network.h"

#include "network/kinds/kinds.h"

/* Returns NULL if integers are supported, else the reason. TFLite's rounding needs a certain output
 * scale, or a fixed-point multiplier for the ratio of the scales; some ratios have none. */
static const char *check_integers(const struct mafat_network *n, int layer)
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
               : "of integers: expected an output scale of 1/256 and the lowest zero point";
  case MAFAT_EXACT_TANH:
    return out->scale == 1 / 128.0f && out->zero == MAFAT_SIGNED_TO_BYTE
               ? NULL
               : "of integers: expected an output scale of 1/128 and the middle zero point";
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
    .numbers = check_integers,
};
