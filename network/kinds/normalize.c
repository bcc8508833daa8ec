/* Shapes and geometry of kind normalize: normalizes the channels of each pixel by one of the ways
 * of enum mafat_normalize_how. Called by api/, formats/, predictor/, programs/make_weights, runner/
 * and search/ through mafat_kind_normalize, its entry in the table of kinds (network/kind.h). infer
 * sets the layer's output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

/* Layer normalization (MAFAT_NORMALIZE_LAYER) of integers may have two operands besides its input:
 * a float factor for each channel, and a float offset for each channel. */
MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  bool scaled =
      l->normalize && l->normalize->how == MAFAT_NORMALIZE_LAYER && l->out_type != MAFAT_F32;
  if (l->n_operands > (scaled ? 3 : 1)) return mafat_kind_refuse(context, "expects fewer operands");
  for (int k = 1; k < l->n_operands; k++) {
    struct mafat_shape s = l->operands[k].shape;
    if (s.h != 1 || s.w != 1 || s.c != l->in.c)
      return mafat_kind_refuse(context, "expects one factor and offset for each channel");
  }
  return mafat_kind_like_input(l, context);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  return operand ? mafat_span(0, 1) : mafat_kind_same_span(l, operand, axis_y, out);
}

/* Does what check_integers does, for layer normalization. */
static const char *check_layer_norm(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  bool fit = l->out_type != MAFAT_F32 && mafat_network_in_type(n, layer) != MAFAT_F32;
  for (int k = 1; k < l->n_operands; k++)
    fit = fit && mafat_network_operand_type(n, layer, k) == MAFAT_F32;
  if (!fit) return "mixes integers and floats, or has factors that are not floats";
  return l->quantization.rounding == MAFAT_REQUANTIZE_EVEN ? NULL : "is not run on integers";
}

/* Returns NULL if the layer can run on integers, else the reason why not. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  static const float step = 1 / 256.0f;
  const struct mafat_layer *l = &n->layers[layer];
  if (l->normalize->how == MAFAT_NORMALIZE_LAYER) return check_layer_norm(n, layer);
  const char *fault = mafat_kind_numbers_alone(n, layer);
  if (fault || l->quantization.rounding == MAFAT_REQUANTIZE_EVEN) return fault;
  if (l->normalize->how != MAFAT_NORMALIZE_SOFTMAX) return "is not run on integers";
  return l->quantization.scale == step && l->quantization.zero == 0
             ? NULL
             : "of integers: expected an output scale of 1/256 and the lowest zero point";
}

const struct mafat_kind mafat_kind_normalize = {
    .name = "normalize",
    .along = MAFAT_ALONG_MAP,
    .in_place = true,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = check_integers,
};
