/* Shapes and geometry of kind split: copies parts of a map to several outputs, each as rearrange
 * does. Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_split, its entry in the table of kinds (network/kind.h). infer sets the output shapes,
 * allocates the list of outputs, and sorts and merges the atoms of the parts (rearrange.h). */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"
#include "network/rearrange.h"

/* Sets the shape of an output from its part. The part must write every element of the output. */
MAFAT_PART(opening)
static int set_output(struct mafat_layer *l, const struct mafat_infer_context *context, int output)
{
  struct mafat_part *p = &l->rearrange->parts[output];
  struct mafat_output is = {
      .shape = mafat_part_shape(p), .type = l->out_type, .quantization = l->quantization};
  int code = output ? mafat_kind_put_out_more(l, context, output, is)
                    : mafat_kind_put_out(l, context, is.shape.h, is.shape.w, is.shape.c);
  const char *fault = code ? NULL : mafat_part_settle_atoms(p, is.shape);
  if (code == MAFAT_OK && !fault && mafat_part_leaves(p, l->in)) fault = "reads outside its input";
  if (code == MAFAT_OK && !fault && mafat_part_elements(p) != mafat_shape_elements(is.shape))
    fault = "leaves elements of an output unset";
  return fault ? mafat_kind_refuse(context, fault) : code;
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_rearrange *r = l->rearrange;
  if (!r || l->n_operands != 1 || r->n_parts < 2)
    return mafat_kind_refuse(context, "expects one input and several outputs");
  int code = mafat_kind_add_outputs(l, context, r->n_parts - 1);
  for (int k = 0; k < r->n_parts && code == MAFAT_OK; k++) code = set_output(l, context, k);
  return code;
}

static int extent_of(struct mafat_shape s, bool axis_y)
{
  return axis_y ? s.h : s.w;
}

/* True if, along this axis, some output has another size than the first output. */
static bool differs(const struct mafat_layer *l, bool axis_y)
{
  bool any = false;
  for (int k = 1; k < mafat_layer_n_outputs(l); k++)
    any = any || extent_of(mafat_layer_output_shape(l, k), axis_y) != extent_of(l->out, axis_y);
  return any;
}

/* Returns the input rows (or columns) that the outputs together need for the rows `out` of each. If
 * the outputs' sizes differ along the axis, returns the whole input. */
static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  struct mafat_span in = {0, 0};
  if (differs(l, axis_y)) return mafat_kind_whole_span(l, operand, axis_y, out);
  for (int k = 0; k < l->rearrange->n_parts; k++)
    in = mafat_span_hull(in, mafat_part_in_span(&l->rearrange->parts[k], l->in, axis_y, out));
  return in;
}

static unsigned not_along(const struct mafat_layer *l)
{
  return (differs(l, true) ? MAFAT_ALONG_ROWS : 0) | (differs(l, false) ? MAFAT_ALONG_COLS : 0);
}

const struct mafat_kind mafat_kind_split = {
    .name = "split",
    .keeps = true,
    .along = MAFAT_ALONG_MAP,
    .not_along = not_along,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = mafat_kind_numbers_kept,
};
