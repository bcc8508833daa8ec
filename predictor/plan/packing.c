/* Computes the block slices and panels of layers, and sizes and offsets of packed weights. Called
 * by api/, predictor/, runner/weights/, runner/engine/kinds/ and search/best. Touches only its
 * arguments. */
#include "predictor/plan/packing.h"

#include <limits.h>

int mafat_block_slices(const struct mafat_sources *sources, struct mafat_span channels,
                 struct mafat_block_slice *block_slices, int capacity)
{
  int n = 0, position = 0;
  for (int i = 0; i < sources->n; i++) {
    struct mafat_source s = sources->list[i];
    struct mafat_span wanted =
        mafat_span_clip(mafat_span(channels.begin - position, channels.end - position), s.n);
    for (int c = wanted.begin; c < wanted.end;) {
      int channel = s.first + c, lane = channel % MAFAT_CHANNEL_BLOCK;
      int count = mafat_min(MAFAT_CHANNEL_BLOCK - lane, wanted.end - c);
      if (n < capacity)
        block_slices[n] = (struct mafat_block_slice){
            s.tensor, channel / MAFAT_CHANNEL_BLOCK, lane, count, position + c, i};
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
    /* Block slices of a source end with its blocks, and with the source. */
    int first = s.first + (end - position), wanted = n - (end - channel);
    int block_end = mafat_round_up(first + wanted, MAFAT_CHANNEL_BLOCK);
    end = mafat_min(position + block_end - s.first, position + s.n);
  }
  return end;
}

int mafat_panel_end(const struct mafat_layer *l, int first)
{
  if (mafat_layer_is_depthwise(l)) return mafat_min(first + MAFAT_CHANNEL_BLOCK, l->out.c);
  if (!mafat_layer_is_grouped(l))
    return mafat_min(first / MAFAT_PANEL * MAFAT_PANEL + MAFAT_PANEL, l->out.c);
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

/* Number of weights of one filter. */
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

/* Bytes of n scales, or of n biases. */
static size_t affine_bytes(size_t n)
{
  return times(n, sizeof(float));
}

/* Bytes of n weights of the layer's type. */
static size_t weights_bytes(const struct mafat_layer *l, size_t n)
{
  uint64_t bytes = n == SIZE_MAX ? SIZE_MAX : mafat_dtype_bytes(l->weights_type, n);
  return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

int mafat_block_slice_end(const struct mafat_layer *l, int channel)
{
  return mafat_layer_is_flat(l) || mafat_layer_is_depthwise(l)
             ? mafat_layer_matrix(l).inputs
             : mafat_slice_end(mafat_layer_sources(l), channel, 1);
}

/* Number of row groups before `channel`; 0 for weight types without scales. */
static size_t groups_before(const struct mafat_layer *l, int channel)
{
  size_t n = 0, taps = (size_t)mafat_layer_matrix(l).taps;
  if (!mafat_dtypes[l->weights_type].scaled) return 0;
  for (int c = 0, end; c < channel; c = end) {
    end = mafat_min(mafat_block_slice_end(l, c), channel);
    n += ((size_t)(end - c) * taps + MAFAT_SCALED_ROWS - 1) / MAFAT_SCALED_ROWS;
  }
  return n;
}

/* Bytes of `rows` rows of a panel: the weights of the first `channels` channels, and their
 * scales. */
static size_t rows_bytes(const struct mafat_layer *l, size_t width, size_t rows, int channels)
{
  return plus(weights_bytes(l, times(width, rows)),
              times(width, groups_before(l, channels) * sizeof(uint16_t)));
}

size_t mafat_panel_offset(const struct mafat_layer *l, size_t width, int channel)
{
  return rows_bytes(l, width, times((size_t)channel, (size_t)mafat_layer_matrix(l).taps), channel);
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

/* Sum of the widths of the panels of filters [0, n) of a grouped layer. */
static size_t walk_widths(const struct mafat_layer *l, int n)
{
  size_t width = 0;
  for (int f = 0; f < n; f = mafat_panel_end(l, f))
    width += (size_t)mafat_panel_width(mafat_panel_end(l, f) - f);
  return width;
}

/* Width of `n` filters divided into panels of `step`. */
static size_t run_width(int n, int step)
{
  size_t width = (size_t)(n / step) * (size_t)mafat_panel_width(step);
  if (n % step) width += (size_t)mafat_panel_width(n % step);
  return width;
}

/* Width of all panels before the one that begins at first_filter. */
static size_t width_before(const struct mafat_layer *l, int first_filter)
{
  if (mafat_layer_is_depthwise(l)) return run_width(first_filter, MAFAT_CHANNEL_BLOCK);
  if (!mafat_layer_is_grouped(l)) return run_width(first_filter, MAFAT_PANEL);
  /* The pattern of panels repeats after as many groups as together fill whole blocks: at most
   * 16. */
  int per_group = l->filters / l->groups;
  int period =
      per_group / greatest_common_divisor(per_group, MAFAT_CHANNEL_BLOCK) * MAFAT_CHANNEL_BLOCK;
  size_t width = walk_widths(l, first_filter % period);
  if (first_filter >= period)
    width += (size_t)(first_filter / period) * walk_widths(l, period);
  return width;
}

/* ---- integer sums ---- */

/* Bytes of integer panels of this total width, with `taps` weights per filter. */
static size_t integer_panel_bytes(size_t width, size_t taps)
{
  return times(width, plus(taps, MAFAT_INTEGERS_OF_FILTER * sizeof(int32_t)));
}

/* Input channels of the filter `first`, rounded up to quads in each block slice. */
static int quads_channels(const struct mafat_layer *l, int first)
{
  enum { SOME = 64 };
  struct mafat_block_slice block_slices[SOME];
  struct mafat_matrix m = mafat_layer_matrix(l);
  const struct mafat_sources *sources = mafat_layer_sources(l);
  /* Fast path: most layers read one tensor from its beginning, and a run asks for every panel. */
  if (l->groups == 1 && sources->n == 1 && sources->list[0].first == 0)
    return mafat_round_up(m.inputs, MAFAT_QUAD);
  int begin = first / (l->filters / l->groups) * m.inputs, channels = 0;
  struct mafat_span group = {begin, begin + m.inputs};
  while (!mafat_span_is_empty(group)) {
    int n = mafat_block_slices(mafat_layer_sources(l), group, block_slices, SOME);
    for (int i = 0; i < n && i < SOME; i++) {
      channels += mafat_round_up(block_slices[i].n, MAFAT_QUAD);
      group.begin = block_slices[i].position + block_slices[i].n;
    }
  }
  return channels;
}

size_t mafat_quads_taps(const struct mafat_layer *l, int first)
{
  size_t taps = (size_t)mafat_layer_matrix(l).taps;
  return mafat_layer_is_depthwise(l) ? taps : times(taps, (size_t)quads_channels(l, first));
}

/* Offset of an integer panel. The panels of an ungrouped layer have equal numbers of weights per
 * filter; in groups the block slices may differ. */
static size_t integer_offset(const struct mafat_layer *l, int first_filter)
{
  size_t bytes = 0;
  if (!mafat_layer_is_grouped(l) || mafat_layer_is_depthwise(l))
    return integer_panel_bytes(width_before(l, first_filter), mafat_quads_taps(l, 0));
  for (int f = 0, end; f < first_filter; f = end) {
    end = mafat_panel_end(l, f);
    bytes = plus(bytes,
                 integer_panel_bytes((size_t)mafat_panel_width(end - f), mafat_quads_taps(l, f)));
  }
  return bytes;
}

/* ---- layers ---- */

size_t mafat_packed_offset(const struct mafat_layer *l, int first_filter)
{
  if (mafat_layer_sums_integers(l)) return integer_offset(l, first_filter);
  size_t width = width_before(l, first_filter);
  return plus(rows_bytes(l, width, taps_per_filter(l), mafat_layer_matrix(l).inputs),
              times(width, 2 * sizeof(float)));
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

/* ---- narrow weights ---- */

int mafat_widened_channels(const struct mafat_layer *l)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  if (!mafat_layer_widens(l)) return m.inputs;
  int n = MAFAT_WIDENED_ROWS / m.taps / MAFAT_SCALED_ROWS * MAFAT_SCALED_ROWS;
  return mafat_min(n > MAFAT_CHANNEL_BLOCK ? n : MAFAT_CHANNEL_BLOCK, m.inputs);
}

int mafat_conv_call_channels(const struct mafat_layer *l, int channels)
{
  uint64_t weights =
      (uint64_t)channels * (uint64_t)mafat_window_area(&l->window) * MAFAT_CHANNEL_BLOCK;
  if (mafat_layer_widens(l)) return mafat_widened_channels(l);
  return mafat_dtype_bytes(l->weights_type, weights) > MAFAT_SPLIT_BYTES ? MAFAT_SPLIT_CHANNELS
                                                                         : channels;
}

size_t mafat_widened_floats(const struct mafat_layer *l, int channels)
{
  size_t width = (size_t)mafat_panel_width(mafat_min(l->out.c, MAFAT_PANEL));
  if (!mafat_layer_widens(l)) return 0;
  return times(times((size_t)channels, (size_t)mafat_layer_matrix(l).taps), width);
}

int mafat_widened_end(const struct mafat_layer *l, int channel, int end)
{
  int n = mafat_widened_channels(l);
  if (mafat_layer_is_flat(l)) return mafat_min(channel + n, end);
  return mafat_min(mafat_slice_end(mafat_layer_sources(l), channel,
                                   mafat_max(n - MAFAT_CHANNEL_BLOCK + 1, 1)),
                   end);
}

int mafat_order_rows(const struct mafat_layer *l, enum mafat_order order)
{
  uint64_t rows =
      order == MAFAT_ORDER_TRANSPOSED ? (uint64_t)l->in.c : mafat_matrix_row(mafat_layer_matrix(l));
  return rows < INT_MAX ? (int)rows : INT_MAX;
}

uint64_t mafat_order_row(const struct mafat_layer *l, enum mafat_order order)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  return order == MAFAT_ORDER_TRANSPOSED ? (uint64_t)(m.filters / l->groups) * (uint64_t)m.taps
                                         : (uint64_t)m.filters;
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
