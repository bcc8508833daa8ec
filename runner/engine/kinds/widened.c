/* Gets weights, and converts them to floats if they have a narrower type. Called by conv_direct.c,
 * conv_depthwise.c, conv_winograd.c and dense.c. Reads weights through runner/weights, and so
 * perhaps files; writes the worker's scratch; allocates nothing. */
#include "runner/engine/kinds/widened.h"

#include <assert.h>

/* Converts weights of a type in which groups of rows have a scale. A group never spans two block
 * slices, so each block slice is converted separately. */
static void widen_block_slices(const struct mafat_worker *w, const struct mafat_layer *l,
                               struct mafat_span channels, const struct mafat_weights_slice *slice,
                               float *to)
{
  size_t width = (size_t)slice->width, begin = mafat_panel_offset(l, width, channels.begin);
  int taps = mafat_layer_matrix(l).taps;
  for (int c = channels.begin, end; c < channels.end; c = end) {
    end = mafat_min(mafat_block_slice_end(l, c), channels.end);
    w->kernels->widen[l->weights_type](slice->narrow + (mafat_panel_offset(l, width, c) - begin),
                                       (end - c) * taps, slice->width,
                                       to + (size_t)(c - channels.begin) * (size_t)taps * width);
  }
}

int mafat_widened_slice(const struct mafat_worker *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice)
{
  const struct mafat_layer *l = &w->tensors->network->layers[layer];
  int code = mafat_weights_slice(w->weights, layer, filters, channels, slice);
  if (code || !slice->narrow) return code;
  float *to = (float *)(w->slot_memory + w->scratch->widened_offset);
  int rows = mafat_span_size(channels) * mafat_layer_matrix(l).taps;
  assert((size_t)rows * (size_t)slice->width <= w->scratch->widened_floats);
  if (mafat_dtypes[l->weights_type].scaled) widen_block_slices(w, l, channels, slice, to);
  else w->kernels->widen[l->weights_type](slice->narrow, rows, slice->width, to);
  slice->weights = to + slice->lane;
  return MAFAT_OK;
}
