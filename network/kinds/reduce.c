/* Shapes and geometry of kind reduce: sums, means and the like over rows, columns or channels, or
 * several of them. Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/
 * through mafat_kind_reduce, its entry in the table of kinds (network/kind.h). infer sets the
 * layer's output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

/* True for arg max and arg min. */
static bool finds_index(const struct mafat_reduce *r)
{
  return r->how == MAFAT_REDUCE_ARG_MAX || r->how == MAFAT_REDUCE_ARG_MIN;
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_reduce *r = l->reduce;
  int n_axes = r->rows + r->cols + r->channels;
  if (n_axes == 0) return mafat_kind_refuse(context, "expects an axis to reduce");
  if (n_axes > 1 && finds_index(r))
    return mafat_kind_refuse(context, "expects a single axis for arg max or arg min");
  return mafat_kind_put_out(l, context, r->rows ? 1 : l->in.h, r->cols ? 1 : l->in.w,
                            r->channels ? 1 : l->in.c);
}

/* Along a reduced axis there is one output, which needs all inputs along that axis. */
static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  bool reduced = axis_y ? l->reduce->rows : l->reduce->cols;
  return reduced ? mafat_kind_whole_span(l, operand, axis_y, out) : out;
}

static unsigned not_along(const struct mafat_layer *l)
{
  return l->reduce->channels ? MAFAT_ALONG_FILTERS : 0;
}

/* Returns NULL if the layer can run on integers, else the reason why not. The indices that arg max
 * and arg min put out are floats. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  const struct mafat_quantization in = mafat_network_in_quantization(n, layer, 0);
  if (finds_index(l->reduce))
    return l->out_type == MAFAT_F32 ? NULL : "expects an output of floats for indices";
  const char *fault = mafat_kind_numbers_alone(n, layer);
  if (fault) return fault;
  if (l->reduce->how != MAFAT_REDUCE_MEAN) return "is not run on integers";
  return mafat_multiplier_can((double)in.scale / (double)l->quantization.scale)
             ? NULL
             : MAFAT_KIND_FAR_SCALES;
}

const struct mafat_kind mafat_kind_reduce = {
    .name = "reduce",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .not_along = not_along,
    .lanewise = true,
    .apart = true,
    .within = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = check_integers,
};
