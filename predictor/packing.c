#include "predictor/packing.h"

#include <limits.h>

int mafat_pieces(const struct mafat_sources *sources, struct mafat_span channels,
                 struct mafat_piece *pieces, int room)
{
  int n = 0, position = 0;
  for (int i = 0; i < sources->n; i++) {
    struct mafat_source s = sources->list[i];
    struct mafat_span wanted =
        mafat_span_clip(mafat_span(channels.begin - position, channels.end - position), s.n);
    for (int c = wanted.begin; c < wanted.end;) {
      int channel = s.first + c, lane = channel % MAFAT_CHANNEL_BLOCK;
      int count = mafat_min(MAFAT_CHANNEL_BLOCK - lane, wanted.end - c);
      if (n < room)
        pieces[n] = (struct mafat_piece){s.tensor, channel / MAFAT_CHANNEL_BLOCK, lane, count,
                                         position + c, i};
      n++;
      c += count;
    }
    position += s.n;
  }
  return n;
}

int mafat_slice_end(const struct mafat_sources *sources, int channel, int n)
{
  int position = 0, end = channel;
  for (int i = 0; i < sources->n; position += sources->list[i++].n) {
    struct mafat_source s = sources->list[i];
    if (position + s.n <= channel) continue;
    if (end - channel >= n) return end;
    /* Pieces of a source end with its blocks, and with the source. */
    int first = s.first + (end - position), wanted = n - (end - channel);
    int block_end = mafat_round_up(first + wanted, MAFAT_CHANNEL_BLOCK);
    end = mafat_min(position + block_end - s.first, position + s.n);
  }
  return end;
}

int mafat_panel_end(const struct mafat_layer *l, int first)
{
  if (mafat_layer_is_depthwise(l)) return mafat_min(first + MAFAT_CHANNEL_BLOCK, l->out.c);
  if (!mafat_layer_is_grouped(l)) return mafat_min(first + MAFAT_PANEL, l->out.c);
  int per_group = l->filters / l->groups;
  int group_end = (first / per_group + 1) * per_group;
  int block_end = (first / MAFAT_CHANNEL_BLOCK + 1) * MAFAT_CHANNEL_BLOCK;
  return mafat_min(group_end, block_end);
}

static size_t times(size_t a, size_t b)
{
  size_t product;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

/* Weights that one filter has. */
static size_t taps_per_filter(const struct mafat_layer *l)
{
  uint64_t taps = mafat_matrix_row(mafat_layer_matrix(l));
  return taps > SIZE_MAX ? SIZE_MAX : (size_t)taps;
}

static size_t plus(size_t a, size_t b)
{
  size_t sum;
  return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

/* Of scales, and of biases. */
static size_t affine_bytes(size_t n)
{
  return times(n, sizeof(float));
}

/* Of so many of the layer's type. */
static size_t weights_bytes(const struct mafat_layer *l, size_t n)
{
  uint64_t bytes = n == SIZE_MAX ? SIZE_MAX : mafat_dtype_bytes(l->weights_type, n);
  return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

size_t mafat_panel_bytes(const struct mafat_layer *l, size_t width, size_t taps)
{
  return plus(weights_bytes(l, times(width, taps)), times(width, 2 * sizeof(float)));
}

static int greatest_common_divisor(int a, int b)
{
  while (b) {
    int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Widths of the panels of filters [0, n) of a grouped layer, walked. */
static size_t walk_widths(const struct mafat_layer *l, int n)
{
  size_t width = 0;
  for (int f = 0; f < n; f = mafat_panel_end(l, f))
    width += (size_t)mafat_panel_width(mafat_panel_end(l, f) - f);
  return width;
}

/* Width of the panels of `n` filters cut as one run of `step`-sized panels. */
static size_t run_width(int n, int step)
{
  size_t width = (size_t)(n / step) * (size_t)mafat_panel_width(step);
  if (n % step) width += (size_t)mafat_panel_width(n % step);
  return width;
}

/* Of all panels before the one that begins at a filter. */
static size_t width_before(const struct mafat_layer *l, int first_filter)
{
  if (mafat_layer_is_depthwise(l)) return run_width(first_filter, MAFAT_CHANNEL_BLOCK);
  if (!mafat_layer_is_grouped(l)) return run_width(first_filter, MAFAT_PANEL);
  /* Panels repeat after the groups that fill whole blocks together: at most 16. */
  int per_group = l->filters / l->groups;
  int period = per_group / greatest_common_divisor(per_group, MAFAT_CHANNEL_BLOCK) * MAFAT_CHANNEL_BLOCK;
  size_t width = walk_widths(l, first_filter % period);
  if (first_filter >= period)
    width += (size_t)(first_filter / period) * walk_widths(l, period);
  return width;
}

size_t mafat_packed_offset(const struct mafat_layer *l, int first_filter)
{
  return mafat_panel_bytes(l, width_before(l, first_filter), taps_per_filter(l));
}

size_t mafat_packed_layer_bytes(const struct mafat_layer *l)
{
  switch (mafat_layer_weights_form(l)) {
  case MAFAT_WEIGHTS_PANELS:
    return mafat_packed_offset(l, l->out.c);
  case MAFAT_WEIGHTS_PIXELS:
  case MAFAT_WEIGHTS_NUMBERS: {
    struct mafat_weight_counts n = mafat_layer_weight_counts(l);
    if (n.weights > SIZE_MAX) return SIZE_MAX;
    return plus(affine_bytes((size_t)n.biases), weights_bytes(l, (size_t)n.weights));
  }
  case MAFAT_WEIGHTS_AFFINE:
    return affine_bytes(2 * (size_t)mafat_round_up(l->in.c, MAFAT_PANEL_STEP));
  default:
    return 0;
  }
}

int mafat_order_rows(const struct mafat_layer *l, enum mafat_order order)
{
  uint64_t rows = order == MAFAT_ORDER_TRANSPOSED ? (uint64_t)l->in.c : mafat_matrix_row(mafat_layer_matrix(l));
  return rows < INT_MAX ? (int)rows : INT_MAX;
}

uint64_t mafat_order_row(const struct mafat_layer *l, enum mafat_order order)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  return order == MAFAT_ORDER_TRANSPOSED ? (uint64_t)(m.filters / l->groups) * (uint64_t)m.taps : (uint64_t)m.filters;
}

size_t mafat_packed_bytes(const struct mafat_network *n, int n_layers)
{
  size_t bytes = 0;
  for (int l = 0; l < n_layers; l++) {
    size_t layer_bytes = mafat_packed_layer_bytes(&n->layers[l]);
    if (__builtin_add_overflow(layer_bytes, (size_t)63, &layer_bytes) ||
        __builtin_add_overflow(bytes, layer_bytes / 64 * 64, &bytes))
      return SIZE_MAX;
  }
  return bytes;
}
