/* Shapes and geometry of kind matmul: the product of two maps. Each row of a map is a matrix: each
 * pixel is a row of the matrix, and the channels are its columns. If `transposed`, the second map's
 * matrices are transposed. If one map has a single row, its matrix is used for every row of the
 * other. Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_matmul, its entry in the table of kinds (network/kind.h). infer sets the layer's
 * output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

static int refuse_shapes(const struct mafat_layer *l, const struct mafat_infer_context *context)
{
  struct mafat_shape a = l->operands[0].shape, b = l->operands[1].shape;
  return mafat_fail(context->d, MAFAT_EFORMAT,
                    "%s:%d: %s cannot multiply %d x %d x %d by %d x %d x %d%s (height, width, "
                    "channels)",
                    context->path, context->line, context->name, a.h, a.w, a.c, b.h, b.w, b.c,
                    l->transposed ? " transposed" : "");
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  if (l->n_operands != 2) return mafat_kind_refuse(context, "expects two operands");
  struct mafat_shape a = l->operands[0].shape, b = l->operands[1].shape;
  bool rows_meet = a.h == b.h || a.h == 1 || b.h == 1;
  if (!rows_meet || a.c != (l->transposed ? b.c : b.w)) return refuse_shapes(l, context);
  return mafat_kind_put_out(l, context, a.h > b.h ? a.h : b.h, a.w, l->transposed ? b.w : b.c);
}

/* An output pixel needs its own pixel of the first map and all columns of the second. */
static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  struct mafat_shape shape = l->operands[operand].shape;
  if (axis_y) return shape.h == 1 ? mafat_span(0, 1) : out;
  return operand == 0 ? out : mafat_span(0, shape.w);
}

MAFAT_PART(opening)
static uint64_t macs(const struct mafat_layer *l, uint64_t pixels, int filters, int channels)
{
  (void)l;
  return pixels * (uint64_t)filters * (uint64_t)channels;
}

/* Returns NULL if the layer can run on integers, else the reason why not. MOST: number of products
 * of two bytes whose sum fits 32 bits. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  enum { MOST = 1 << 14 };
  const struct mafat_layer *l = &n->layers[layer];
  const char *fault = mafat_kind_numbers_alone(n, layer);
  if (fault) return fault;
  if (l->quantization.rounding != MAFAT_REQUANTIZE_EVEN || l->activation.kind != MAFAT_LINEAR ||
      l->alpha != 1)
    return "is not run on integers";
  return l->in.c <= MOST ? NULL : "of integers: expected sums of at most 16384 products";
}

const struct mafat_kind mafat_kind_matmul = {
    .name = "matmul",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .multiplies = true,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .macs = macs,
    .numbers = check_integers,
};
