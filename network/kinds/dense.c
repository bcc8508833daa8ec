/* A fully connected layer: a convolution whose window is its whole input. */
#include "network/kinds/kinds.h"

/* The whole input is one window of one pixel. */
static struct mafat_matrix matrix(const struct mafat_layer *l)
{
  return (struct mafat_matrix){l->out.c, mafat_layer_channels(l), 1};
}

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
    .in_span = mafat_kind_whole_span,
    .matrix = matrix,
    .counts = mafat_kind_matrix_counts,
    .macs = macs,
};
