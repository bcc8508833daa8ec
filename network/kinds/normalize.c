/* Shapes and geometry of kind normalize: normalizes the channels of each pixel. Called by the
 * readers, predictor/ and runner/ through its row (network/kind.h). Its infer fills in the layer;
 * nothing is allocated. */
#include "network/network.h"

#include "base/part.h"
#include "network/kinds/kinds.h"

/* An integer layer normalization may have two more operands: float factors and offsets per
 * channel. */
MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  bool scaled =
      l->normalize && l->normalize->how == MAFAT_NORMALIZE_LAYER && l->out_type != MAFAT_F32;
  if (l->n_operands > (scaled ? 3 : 1)) return mafat_kind_refuse(context, "expects fewer operands");
  for (int k = 1; k < l->n_operands; k++) {
    struct mafat_shape s = l->operands[k].shape;
    if (s.h != 1 || s.w != 1 || s.c != l->in.c)
      return mafat_kind_refuse(context, "expects a number for each channel");
  }
  return mafat_kind_like_input(l, context);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  return operand ? mafat_span(0, 1) : mafat_kind_same_span(l, operand, axis_y, out);
}

static const char *layer_numbers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  bool whole = l->out_type != MAFAT_F32 && mafat_network_in_type(n, layer) != MAFAT_F32;
  for (int k = 1; k < l->n_operands; k++)
    whole = whole && mafat_network_operand_type(n, layer, k) == MAFAT_F32;
  if (!whole) return "reads or puts out integers and floats";
  return l->quantization.rounding == MAFAT_REQUANTIZE_EVEN ? NULL : "is not run on integers";
}

static const char *numbers(const struct mafat_network *n, int layer)
{
  static const float step = 1 / 256.0f;
  const struct mafat_layer *l = &n->layers[layer];
  if (l->normalize->how == MAFAT_NORMALIZE_LAYER) return layer_numbers(n, layer);
  const char *fault = mafat_kind_numbers_alone(n, layer);
  if (fault || l->quantization.rounding == MAFAT_REQUANTIZE_EVEN) return fault;
  if (l->normalize->how != MAFAT_NORMALIZE_SOFTMAX) return "is not run on integers";
  return l->quantization.scale == step && l->quantization.zero == 0
             ? NULL
             : "of integers puts out steps of 1/256 from the least one on";
}

const struct mafat_kind mafat_kind_normalize = {
    .name = "normalize",
    .along = MAFAT_ALONG_MAP,
    .in_place = true,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = numbers,
};
