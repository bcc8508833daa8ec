/* Shapes and geometry of kind local: a convolution with separate weights for every output pixel.
 * Called by the readers, predictor/ and runner/ through its row (network/kind.h). Its infer fills
 * in the layer; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h"

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  /* Darknet's rule: for the output's size any pad counts as one, for the taps as itself. */
  const struct mafat_taps t = l->window.y;
  int less = t.before ? 1 : t.size;
  if (l->in.h < less || l->in.w < less)
    return mafat_kind_refuse(context, "has a window larger than its input");
  int h = (l->in.h - less) / t.stride + 1, w = (l->in.w - less) / t.stride + 1;
  int code = mafat_kind_check_weights(context, (double)h * w * l->filters,
                                      (double)l->in.c * t.size * t.size);
  return code ? code : mafat_kind_put_out(l, context, h, w, l->filters);
}

/* Matrix of one pixel; each pixel has another one of this size. */
static struct mafat_matrix matrix(const struct mafat_layer *l)
{
  return (struct mafat_matrix){l->filters, l->in.c, mafat_window_area(&l->window)};
}

static struct mafat_weight_counts counts(const struct mafat_layer *l)
{
  uint64_t floats = (uint64_t)l->out.h * (uint64_t)l->out.w * (uint64_t)l->out.c;
  return (struct mafat_weight_counts){floats, 0, floats * mafat_matrix_row(matrix(l))};
}

const struct mafat_kind mafat_kind_local = {
    .name = "local",
    .weights = MAFAT_WEIGHTS_PIXELS,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
    .matrix = matrix,
    .counts = counts,
    .macs = mafat_kind_window_macs,
};
