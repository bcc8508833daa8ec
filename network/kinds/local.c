/* A convolution with weights of its own for every pixel. */
#include "network/kinds/kinds.h"

/* Of one pixel; the others have others of this size. */
static struct mafat_matrix matrix(const struct mafat_layer *l)
{
  return (struct mafat_matrix){l->filters, l->in.c, l->size * l->size};
}

static struct mafat_weight_counts counts(const struct mafat_layer *l)
{
  uint64_t floats = (uint64_t)l->out.h * (uint64_t)l->out.w * (uint64_t)l->out.c;
  return (struct mafat_weight_counts){floats, 0, floats * mafat_matrix_row(matrix(l))};
}

const struct mafat_kind mafat_kind_local = {
    .name = "local",
    .weights = MAFAT_WEIGHTS_PIXELS,
    .in_span = mafat_kind_whole_span,
    .matrix = matrix,
    .counts = counts,
    .macs = mafat_kind_window_macs,
};
