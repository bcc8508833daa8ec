/* Shapes and geometry of kind topk: the k largest or smallest elements along an axis, best first,
 * and their indices, as two outputs. Ties go to the first element, and NaN is worse than any
 * number. Indices are floats. Called by api/, formats/, predictor/, programs/make_weights, runner/
 * and search/ through mafat_kind_topk, its entry in the table of kinds (network/kind.h). infer sets
 * the output shapes and allocates the list of outputs. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"
#include "network/rearrange.h"

enum { MOST = 1 << 24 }; /* all indices up to this number are exact as floats */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_topk *t = &l->topk;
  int extents[MAFAT_N_AXES] = {l->in.h, l->in.w, l->in.c};
  if (l->n_operands != 1 || t->axis < 0 || t->axis >= MAFAT_N_AXES)
    return mafat_kind_refuse(context, "expects an axis");
  if (t->k < 1 || t->k > extents[t->axis] || extents[t->axis] > MOST)
    return mafat_fail(context->d, MAFAT_EUNSUPPORTED,
                      "%s:%d: %s expects 1 to %d elements, found %d", context->path, context->line,
                      context->name, extents[t->axis] < MOST ? extents[t->axis] : MOST, t->k);
  extents[t->axis] = t->k;
  int code = mafat_kind_put_out(l, context, extents[MAFAT_AXIS_H], extents[MAFAT_AXIS_W],
                                extents[MAFAT_AXIS_C]);
  if (code == MAFAT_OK) code = mafat_kind_add_outputs(l, context, 1);
  return code ? code
              : mafat_kind_put_out_more(l, context, 1,
                                        (struct mafat_output){.shape = l->out, .type = MAFAT_F32});
}

/* Along the axis whose elements are compared, every output element needs the whole input. */
static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  bool whole = l->topk.axis == (axis_y ? MAFAT_AXIS_H : MAFAT_AXIS_W);
  return whole ? mafat_kind_whole_span(l, operand, axis_y, out) : out;
}

static unsigned not_along(const struct mafat_layer *l)
{
  static const unsigned along[MAFAT_N_AXES] = {MAFAT_ALONG_ROWS, MAFAT_ALONG_COLS,
                                               MAFAT_ALONG_FILTERS};
  return along[l->topk.axis];
}

const struct mafat_kind mafat_kind_topk = {
    .name = "topk",
    .keeps = true,
    .lanewise = true,
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .not_along = not_along,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = mafat_kind_numbers_kept,
};
