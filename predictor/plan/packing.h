/* Groups channels and weights for the kernels. Pure functions of shapes. Called by predictor/,
 * search/best, runner/, api/ and programs/make_weights.
 *
 * Channels are stored in blocks (base/blocks.h). A *block slice* is the part of one channel block
 * of one source tensor that a layer reads: the unit of summation. A *panel* is a sequence of up to
 * 32 filters whose weights are interleaved. */
#ifndef MAFAT_PREDICTOR_PLAN_PACKING_H
#define MAFAT_PREDICTOR_PLAN_PACKING_H

#include "base/blocks.h"
#include "network/constant.h"
#include "network/network.h"

/* Elements of a pixel in all blocks together. */
static inline int mafat_pixel_width(int channels)
{
  int last = mafat_n_blocks(channels) - 1;
  return last * MAFAT_CHANNEL_BLOCK + mafat_block_width(channels, last);
}

/* Elements of a pixel in the blocks that contain channels [begin, end). */
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
  int position; /* its first channel's index among the layer's input channels */
  int source;   /* source in the band; the fields above are of its first band (network/sources.h) */
};

/* Lists the block slices of input channels `channels`, in order of summation. Writes at most
 * `capacity`, returns their number. */
int mafat_block_slices(const struct mafat_sources *sources, struct mafat_span channels,
                 struct mafat_block_slice *block_slices, int capacity);

/* End of a slice that begins at `channel` and has at least n input channels, or all that remain. A
 * slice ends where a block slice ends. */
int mafat_slice_end(const struct mafat_sources *sources, int channel, int n);

/* End of the panel that begins at filter `first` (without groups: that contains it). A panel does
 * not cross group edges nor, in grouped convolutions, channel blocks. */
int mafat_panel_end(const struct mafat_layer *l, int first);
/* Floats from one tap's weights to the next in a panel of n filters. */
static inline int mafat_panel_width(int n_filters)
{
  return mafat_round_up(n_filters, MAFAT_PANEL_STEP);
}

/* int8 weights of a filter in an integer panel that begins at filter `first`: channels of each
 * block slice and tap, rounded up to quads. Depthwise: its taps. */
size_t mafat_quads_taps(const struct mafat_layer *l, int first);
enum { MAFAT_QUAD = 4 };

/* Integers of a filter stored after its weights: bias, multiplier and shift. */
enum { MAFAT_INTEGERS_OF_FILTER = 3 };

/* Bytes of the panels before the one that begins at filter `first`, if the layer's panels are
 * alike. */
static inline size_t mafat_integer_panels_before(int first, size_t quads_taps)
{
  return (size_t)first * (quads_taps + MAFAT_INTEGERS_OF_FILTER * sizeof(int32_t));
}

/* Element of the third row after an integer panel: the shift in the low 16 bits, the zero point of
 * the panel's weights above. (With ONNX's rule, that row has factors of negative sums only.) */
static inline int mafat_shift_with_zero(int shift, int zero)
{
  return (int)((unsigned)zero << 16 | ((unsigned)shift & 0xffff));
}
static inline int mafat_zero_beside_shift(int both) { return both >> 16; }

/* Bytes before the weights of input channel `channel` in a panel of this width. `channel` begins a
 * block slice or is the number of channels; in a flat layer's single block slice it begins a row
 * group. SIZE_MAX on overflow.
 *
 * A panel is [input channels in block slices][ky][kx][channel][width], followed by scale and bias
 * of the width, which are floats for every weight type. A depthwise panel is one block
 * [ky][kx][width]. In scaled types, a block slice's rows come in row groups of MAFAT_SCALED_ROWS
 * (the last may be shorter), each followed by scales of the width as halves. */
size_t mafat_panel_offset(const struct mafat_layer *l, size_t width, int channel);
/* Bytes of a panel's scales and biases. */
static inline size_t mafat_panel_affine_bytes(size_t width)
{
  return width * 2 * sizeof(float);
}
/* Bytes before a panel in the layer's packed weights.
 *
 * Layers that sum integers (kind.h: mafat_layer_sums_integers) have
 *   [block slices][ky][kx][channel / 4][width][4]
 * int8, with zeros after a block slice's last channel, then three rows of int32 of the width: bias
 * including the contribution of the input's zero point, multiplier, shift. A depthwise panel has
 *   [ky][kx][width]
 * int8, then the same rows. */
size_t mafat_packed_offset(const struct mafat_layer *l, int first_filter);
/* Bytes of a layer's packed weights; 0 without weights. SIZE_MAX on overflow. */
size_t mafat_packed_layer_bytes(const struct mafat_layer *l);

/* ---- narrow weights ---- */

/* Most input channels widened to floats at a time, so that they stay in a core's own caches; the
 * last block slice may be one channel only. All channels if weights are wide. */
int mafat_widened_channels(const struct mafat_layer *l);
/* Most input channels of one kernel call, out of `channels` of a direct convolution's panel,
 * limited by the caches. The last block slice may exceed it, unless weights are narrow. */
int mafat_conv_call_channels(const struct mafat_layer *l, int channels);
/* Floats of `channels` widened channels of the layer's widest panel; 0 if weights are wide.
 * SIZE_MAX on overflow. */
size_t mafat_widened_floats(const struct mafat_layer *l, int channels);
/* End of the channels widened together from `channel` on: the end of a block slice. For layers
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

/* Rows in which weights without filter order are read: each input and tap of all filters, or each
 * input of all groups. INT_MAX if more. */
int mafat_order_rows(const struct mafat_layer *l, enum mafat_order order);
/* Weights of one such row. */
uint64_t mafat_order_row(const struct mafat_layer *l, enum mafat_order order);

/* Bytes of packed weights of the first n_layers, each layer aligned to 64. */
size_t mafat_packed_bytes(const struct mafat_network *n, int n_layers);

#endif
