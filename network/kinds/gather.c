/* Shapes and geometry of kind gather: copies columns of a table by index. The first operand has one
 * channel of indices; each selects the column of the second operand, which has one row, for the
 * output's pixel. Negative indices count from the end; others are clamped. Called by the readers,
 * predictor/ and runner/ through its row (network/kind.h). Its infer fills in the layer; nothing is
 * allocated. */
#include "network/network.h"

#include "base/part.h"
#include "network/kinds/kinds.h"

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  if (l->n_operands != 2) return mafat_kind_refuse(context, "expects numbers and a table");
  struct mafat_shape numbers = l->in, table = l->operands[1].shape;
  if (numbers.c == 1 && table.h == 1)
    return mafat_kind_put_out(l, context, numbers.h, numbers.w, table.c);
  return mafat_fail(context->d, MAFAT_EFORMAT,
                    "%s:%d: %s expects numbers of one channel and a table of one row, found "
                    "%d x %d x %d and %d x %d x %d (height, width, channels)",
                    context->path, context->line, context->name, numbers.h, numbers.w, numbers.c,
                    table.h, table.w, table.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  struct mafat_shape table = l->operands[1].shape;
  if (operand == 0) return out;
  return mafat_span(0, axis_y ? 1 : table.w);
}

/* An integer table is supported; indices must be floats. */
static const char *numbers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  struct mafat_quantization table = mafat_network_in_quantization(n, layer, 1);
  if (mafat_network_in_type(n, layer) != MAFAT_F32) return "expects its places as floats";
  bool alike = mafat_network_operand_type(n, layer, 1) == l->out_type &&
               mafat_quantization_equals(&table, &l->quantization);
  return alike ? NULL : "puts out other numbers than its table's";
}

const struct mafat_kind mafat_kind_gather = {
    .name = "gather",
    .keeps = true,
    .looks_up = true,
    .within = true,
    .lanewise = true,
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = numbers,
};
