/* Shapes and geometry of kinds shortcut, scale_channels and sam, which combine maps element by
 * element: the first two operands, the result with the third, and so on. Called by api/, formats/,
 * predictor/, programs/make_weights, runner/ and search/ through their entries in the table of
 * kinds (network/kind.h). infer sets the layer's output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

#include <math.h>

/* True if one map's height and width are the same integer multiple of the other map's, at least 1,
 * where quotients are rounded down. Darknet requires this. */
static bool sizes_agree(struct mafat_shape from, struct mafat_shape to)
{
  return from.w / to.w == from.h / to.h && to.w / from.w == to.h / from.h &&
         (from.w / to.w >= 1 || to.w / from.w >= 1);
}

static bool is_same_map(struct mafat_shape a, struct mafat_shape b)
{
  return a.h == b.h && a.w == b.w;
}

static bool can_broadcast(struct mafat_shape from, struct mafat_shape to)
{
  return (from.h == to.h || from.h == 1) && (from.w == to.w || from.w == 1) &&
         (from.c == to.c || from.c == 1);
}

static int refuse_maps(const struct mafat_layer *l, struct mafat_shape from, const char *expected,
                       const struct mafat_infer_context *context)
{
  return mafat_fail(context->d, MAFAT_EFORMAT,
                    "%s:%d: %s expects maps %s, found %d x %d and %d x %d", context->path,
                    context->line, context->name, expected, from.h, from.w, l->in.h, l->in.w);
}

/* Checks an operand after the first of a sum. Its number of channels may differ from the first
 * operand's; if there are only two operands, so may its height and width. */
static int check_added(const struct mafat_layer *l, struct mafat_shape from,
                       const struct mafat_infer_context *context)
{
  if (l->n_operands == 2)
    return sizes_agree(from, l->in)
               ? MAFAT_OK
               : refuse_maps(l, from, "that differ by one integer factor", context);
  return is_same_map(from, l->in) ? MAFAT_OK : refuse_maps(l, from, "of one size", context);
}

static int check_operand(const struct mafat_layer *l, const struct mafat_operand *o,
                         const struct mafat_infer_context *context)
{
  struct mafat_shape from = o->shape;
  if (!o->broadcast && l->blend == MAFAT_BLEND_ADD) return check_added(l, from, context);
  if (o->broadcast ? can_broadcast(from, l->in) : is_same_map(from, l->in) && from.c == l->in.c)
    return MAFAT_OK;
  return mafat_fail(context->d, MAFAT_EFORMAT,
                    "%s:%d: %s cannot combine %d x %d x %d with %d x %d x %d (height, width, "
                    "channels)",
                    context->path, context->line, context->name, from.h, from.w, from.c, l->in.h,
                    l->in.w, l->in.c);
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  for (int k = 1; k < l->n_operands; k++) {
    int code = check_operand(l, &l->operands[k], context);
    if (code) return code;
  }
  return mafat_kind_like_input(l, context);
}

/* Returns the rows (or columns) that output rows `out` read of an operand that is not the first.
 * from, to: extents of the operand and of the output. If these differ, output row i * sample reads
 * operand row i * stride, for each i >= 0; other output rows read nothing of this operand. */
static struct mafat_span from_span(int from, int to, struct mafat_span out)
{
  int stride = from / to > 1 ? from / to : 1, sample = to / from > 1 ? to / from : 1;
  struct mafat_span i = {(out.begin + sample - 1) / sample, (out.end - 1) / sample + 1};
  i = mafat_span_clip(i, from < to ? from : to);
  return mafat_span_is_empty(i) ? mafat_span(0, 0)
                                : mafat_span(i.begin * stride, (i.end - 1) * stride + 1);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  const struct mafat_operand *o = &l->operands[operand];
  int from = axis_y ? o->shape.h : o->shape.w, to = axis_y ? l->out.h : l->out.w;
  if (operand == 0) return out;
  if (o->broadcast) return from == 1 ? mafat_span(0, 1) : out;
  return from_span(from, to, out);
}

/* Returns NULL if the layer can be computed on integers, else the reason why not. TFLite converts
 * both operands of a sum to the scale 2 * S / 2^20, where S is the larger of their scales, adds
 * them, and requantizes the sum to the output's scale. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  enum { FINER = 20 };
  const struct mafat_layer *l = &n->layers[layer];
  const char *fault = mafat_kind_numbers_alone(n, layer);
  if (fault) return fault;
  bool sum = l->blend == MAFAT_BLEND_ADD && fabsf(l->alpha) == 1 && fabsf(l->beta) == 1 &&
             l->alpha + l->beta >= 0;
  if (l->n_operands != 2 || !(sum || l->blend == MAFAT_BLEND_MUL || l->blend == MAFAT_BLEND_PRELU))
    return "is not run on integers";
  if (l->activation.kind != MAFAT_LINEAR)
    return "of integers has an activation: expected bounds of its output instead";
  if (l->quantization.rounding == MAFAT_REQUANTIZE_EVEN) return NULL;
  const float a = mafat_network_in_quantization(n, layer, 0).scale,
              b = mafat_network_in_quantization(n, layer, 1).scale, out = l->quantization.scale;
  const double factor = l->blend == MAFAT_BLEND_ADD
                            ? 2 * (double)(a > b ? a : b) / (1 << FINER) / (double)out
                            : mafat_product_factor(a, b, out);
  return mafat_multiplier_can(factor) &&
                 (l->blend != MAFAT_BLEND_PRELU || mafat_multiplier_can((double)(a / out)))
             ? NULL
             : MAFAT_KIND_FAR_SCALES;
}

/* The kinds differ only in the names of their cfg sections. */
#define BLEND(cfg_name)                             \
  {                                                 \
    .name = cfg_name,                               \
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS, \
    .lanewise = true,                               \
    .blends = true,                                 \
    .in_place = true,                               \
    .infer = infer,                                 \
    .in_span = in_span,                             \
    .numbers = check_integers,                      \
  }

const struct mafat_kind mafat_kind_shortcut = BLEND("shortcut");
const struct mafat_kind mafat_kind_scale_channels = BLEND("scale_channels");
const struct mafat_kind mafat_kind_sam = BLEND("sam");
