/* Division of channels and weights for the kernels, and the layout of packed weights. Called by
 * predictor/, search/best, runner/, api/ and programs/make_weights. Touches only its arguments.
 *
 * Channels are stored in blocks of 16 (base/blocks.h). A *block slice* is the part of one channel
 * block of one source tensor that a layer reads: the unit of summation. A *slice* is one or several
 * consecutive block slices. A *panel* is a sequence of up to 32 filters whose weights are
 * interleaved. */
#ifndef MAFAT_PREDICTOR_PLAN_PACKING_H
#define MAFAT_PREDICTOR_PLAN_PACKING_H

#include "base/blocks.h"
#include "network/constant.h"
#include "network/network.h"

/* Elements stored per pixel, with the padding of the last block. */
static inline int mafat_pixel_width(int channels)
{
  int last = mafat_n_blocks(channels) - 1;
  return last * MAFAT_CHANNEL_BLOCK + mafat_block_width(channels, last);
}

/* Elements stored per pixel in the blocks that contain channels `part`. */
static inline int mafat_pixel_width_of(int channels, struct mafat_span part)
{
  /* only the tensor's last block is narrower */
  int first = part.begin / MAFAT_CHANNEL_BLOCK, end = mafat_n_blocks(part.end);
  return end > first
             ? (end - 1 - first) * MAFAT_CHANNEL_BLOCK + mafat_block_width(channels, end - 1)
             : 0;
}

struct mafat_block_slice {
  int tensor, block;
  int lane;     /* first channel within the block */
  int n;        /* number of channels */
  int position; /* index of its first channel among the layer's input channels */
  int source;   /* index of its source in each band of rows (network/sources.h); tensor, block and
                   lane are those of the first band */
};

/* Lists the block slices of input channels `channels`, in order of summation. Writes at most
 * `capacity` of them; returns the number of all. */
int mafat_block_slices(const struct mafat_sources *sources, struct mafat_span channels,
                 struct mafat_block_slice *block_slices, int capacity);

/* Returns the end of a slice that begins at input channel `channel`: the first end of a block slice
 * that is at least n channels further on, or the end of the last block slice. */
int mafat_slice_end(const struct mafat_sources *sources, int channel, int n);

/* Returns the end of the panel that begins at filter `first`. In layers without groups, `first` may
 * be any filter of the panel. In grouped convolutions, panels end at groups and channel blocks. */
int mafat_panel_end(const struct mafat_layer *l, int first);
/* Width of a panel of n filters: weights stored for one input channel and tap. */
static inline int mafat_panel_width(int n_filters)
{
  return mafat_round_up(n_filters, MAFAT_PANEL_STEP);
}

/* int8 weights stored for each filter of the integer panel that begins at filter `first`: for each
 * tap, the channels of each block slice rounded up to quads. For a depthwise layer: one weight for
 * each tap. */
size_t mafat_quads_taps(const struct mafat_layer *l, int first);
enum { MAFAT_QUAD = 4 }; /* channels of a quad, which integer kernels sum at a time */

/* Integers of a filter stored after its weights: bias, multiplier and shift. */
enum { MAFAT_INTEGERS_OF_FILTER = 3 };

/* Bytes of the panels before the one that begins at filter `first`, if all panels of the layer have
 * `quads_taps` weights per filter. */
static inline size_t mafat_integer_panels_before(int first, size_t quads_taps)
{
  return (size_t)first * (quads_taps + MAFAT_INTEGERS_OF_FILTER * sizeof(int32_t));
}

/* Element of the row of shifts that follows an integer panel (mafat_packed_offset): the shift in
 * the low 16 bits, the zero point of the weights in the high 16 bits. (With ONNX's rounding rule,
 * the row has the factors of negative sums instead.) */
static inline int mafat_shift_with_zero(int shift, int zero)
{
  return (int)((unsigned)zero << 16 | ((unsigned)shift & 0xffff));
}
/* The zero point in such an element. */
static inline int mafat_zero_beside_shift(int both) { return both >> 16; }

/* Bytes before the weights of input channel `channel` in a panel of this width. `channel` begins a
 * block slice, or is the number of channels; in a flat layer (kind.h: flat) it begins a row group,
 * as defined below. SIZE_MAX on overflow.
 *
 * A panel is [block slice][ky][kx][channel][width], followed by `width` scales and `width` biases,
 * which are floats for every weight type. A depthwise panel is one block [ky][kx][width].
 *
 * Weight types with scales (network/dtypes.def: scaled) store the rows of a block slice, of `width`
 * weights each, in row groups of MAFAT_SCALED_ROWS; the last may be shorter. Each group is followed
 * by `width` scales as halves (16-bit floats). */
size_t mafat_panel_offset(const struct mafat_layer *l, size_t width, int channel);
/* Bytes of a panel's scales and biases. */
static inline size_t mafat_panel_affine_bytes(size_t width)
{
  return width * 2 * sizeof(float);
}
/* Bytes before the panel that begins at first_filter in the layer's packed weights. SIZE_MAX on
 * overflow.
 *
 * Panels of layers that sum integers (kind.h: mafat_layer_sums_integers) are
 *   [block slice][ky][kx][channel / 4][width][4]
 * int8, with zeros after a block slice's last channel. Three rows of `width` int32 follow: biases,
 * which include the contribution of the input's zero point; multipliers; shifts. A depthwise panel
 * is [ky][kx][width] int8, followed by the same rows. */
size_t mafat_packed_offset(const struct mafat_layer *l, int first_filter);
/* Bytes of a layer's packed weights; 0 without weights. SIZE_MAX on overflow. */
size_t mafat_packed_layer_bytes(const struct mafat_layer *l);

/* ---- narrow weights: types that kernels widen to floats, a slice of a panel at a time ---- */

/* Most input channels whose weights are widened at a time, so that they stay in a core's own
 * caches. All channels if the weights are floats. */
int mafat_widened_channels(const struct mafat_layer *l);
/* Input channels of one kernel call, for a direct convolution that sums `channels` channels;
 * limited by the caches. A call ends with a block slice, so it may have more channels, unless
 * weights are narrow. */
int mafat_conv_call_channels(const struct mafat_layer *l, int channels);
/* Number of floats to which the weights of `channels` input channels of the layer's widest panel
 * are widened; 0 if the layer's weights are not widened. SIZE_MAX on overflow. */
size_t mafat_widened_floats(const struct mafat_layer *l, int channels);
/* End of the channels that are widened together from `channel` on; at most `end`. For layers
 * without groups. */
int mafat_widened_end(const struct mafat_layer *l, int channel, int end);
/* End of the block slice that begins at `channel`. */
int mafat_block_slice_end(const struct mafat_layer *l, int channel);

/* ---- weights as stored in files ---- */

/* True if weights are stored filter by filter, so that some filters can be read alone. */
static inline bool mafat_order_has_filters(enum mafat_order order)
{
  return order == MAFAT_ORDER_FILTERS || order == MAFAT_ORDER_FILTERS_TAPS;
}

/* For weights that are not stored filter by filter: the number of rows in which they are read. A
 * row has the weights of all filters for one input channel and tap; of transposed convolutions,
 * those of one input channel. At most INT_MAX. */
int mafat_order_rows(const struct mafat_layer *l, enum mafat_order order);
/* Number of weights in one such row. */
uint64_t mafat_order_row(const struct mafat_layer *l, enum mafat_order order);

/* Bytes of the packed weights of the first n_layers, each layer's rounded up to 64; SIZE_MAX on
 * overflow. */
size_t mafat_packed_bytes(const struct mafat_network *n, int n_layers);

#endif
