/* Shapes and geometry of kind connected: a convolution whose window is its whole input. Called by
 * api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_connected, its entry in the table of kinds (network/kind.h). infer sets the layer's
 * output shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

#include <limits.h>

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  double inputs = (double)mafat_shape_elements(l->in);
  if (inputs > INT_MAX) return mafat_kind_refuse(context, "has too many inputs");
  int code = mafat_kind_check_weights(context, l->filters, inputs);
  return code ? code : mafat_kind_put_out(l, context, 1, 1, l->filters);
}

/* All inputs are channels of one pixel. */
static struct mafat_matrix matrix(const struct mafat_layer *l)
{
  return (struct mafat_matrix){l->out.c, mafat_layer_channels(l), 1};
}

MAFAT_PART(opening)
static uint64_t macs(const struct mafat_layer *l, uint64_t pixels, int filters, int channels)
{
  (void)l, (void)pixels;
  return (uint64_t)filters * (uint64_t)channels;
}

const struct mafat_kind mafat_kind_connected = {
    .name = "connected",
    .along = MAFAT_ALONG_FILTERS | MAFAT_ALONG_INPUTS,
    .weights = MAFAT_WEIGHTS_PANELS,
    .flat = true,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
    .matrix = matrix,
    .counts = mafat_kind_matrix_counts,
    .macs = macs,
};
