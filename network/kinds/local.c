/* Shapes and geometry of kind local: a convolution with separate weights for every output pixel.
 * Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_local, its entry in the table of kinds (network/kind.h). infer sets the layer's output
 * shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  /* Darknet's rule: with any padding the output's size is (in - 1) / stride + 1, whatever the
   * window's size. */
  const struct mafat_taps t = l->window.y;
  int least = t.before ? 1 : t.size; /* smallest possible extent of the input */
  if (l->in.h < least || l->in.w < least)
    return mafat_kind_refuse(context, "has a window larger than its input");
  int h = (l->in.h - least) / t.stride + 1, w = (l->in.w - least) / t.stride + 1;
  int code = mafat_kind_check_weights(context, (double)h * w * l->filters,
                                      (double)l->in.c * t.size * t.size);
  return code ? code : mafat_kind_put_out(l, context, h, w, l->filters);
}

/* Returns the size of an output pixel's matrix; each pixel has its own. */
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
