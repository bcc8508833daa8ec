/* A convolution: windows over the channels of a group, with their weights. */
#include "network/kinds/kinds.h"

/* Clips to the map, but keeps the pixel at the edge of a window that lies wholly
 * in the padding (padding >= size): the zeros it reads are stored beside it. */
static struct mafat_span clip_to_touch(struct mafat_span s, int extent)
{
  if (s.begin >= extent) return mafat_span(extent - 1, extent);
  if (s.end <= 0) return mafat_span(0, 1);
  return mafat_span_clip(s, extent);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)operand;
  return clip_to_touch(mafat_span_window(out, l->size, l->stride, l->pad), axis_y ? l->in.h : l->in.w);
}

static void find_pads(const struct mafat_layer *l, int *left, int *right)
{
  int reach = (l->out.w - 1) * l->stride - l->pad + l->size - l->in.w;
  *left = l->pad;
  *right = reach > 0 ? reach : 0;
}

static struct mafat_matrix matrix(const struct mafat_layer *l)
{
  return (struct mafat_matrix){l->filters, l->in.c / l->groups, l->size * l->size};
}

const struct mafat_kind mafat_kind_convolutional = {
    .name = "convolutional",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS | MAFAT_ALONG_INPUTS,
    .weights = MAFAT_WEIGHTS_PANELS,
    .convolves = true,
    .in_span = in_span,
    .pads = find_pads,
    .matrix = matrix,
    .counts = mafat_kind_matrix_counts,
    .macs = mafat_kind_window_macs,
};
