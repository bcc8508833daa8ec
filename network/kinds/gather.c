/* Shapes and geometry of kind gather: copies columns of a table by index. The table is the second
 * operand and has one row. The first operand has one channel of indices; each pixel of the output
 * is the column with that index. Negative indices count from the end; indices out of range are
 * clamped. Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_gather, its entry in the table of kinds (network/kind.h). infer sets the layer's
 * output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  if (l->n_operands != 2) return mafat_kind_refuse(context, "expects indices and a table");
  struct mafat_shape numbers = l->in, table = l->operands[1].shape;
  if (numbers.c == 1 && table.h == 1)
    return mafat_kind_put_out(l, context, numbers.h, numbers.w, table.c);
  return mafat_fail(context->d, MAFAT_EFORMAT,
                    "%s:%d: %s expects indices of one channel and a table of one row, found "
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

/* Returns NULL if the layer can run on integers, else the reason why not. The table may have
 * integers; indices must be floats. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  struct mafat_quantization table = mafat_network_in_quantization(n, layer, 1);
  if (mafat_network_in_type(n, layer) != MAFAT_F32) return "expects its indices as floats";
  bool alike = mafat_network_operand_type(n, layer, 1) == l->out_type &&
               mafat_quantization_equals(&table, &l->quantization);
  return alike ? NULL : "has another output scale or zero point than its table";
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
    .numbers = check_integers,
};
