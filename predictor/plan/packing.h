/* How channels and weights are grouped for the kernels: pure functions of
 * shapes, shared by the weights reader, the layout and the executor.
 *
 * Channels lie in blocks (base/blocks.h). A *piece* is the part of one block
 * of one source tensor that a layer reads: the unit of summation. A *panel* is
 * a run of up to 32 filters whose weights lie interleaved. */
#ifndef MAFAT_PREDICTOR_PLAN_PACKING_H
#define MAFAT_PREDICTOR_PLAN_PACKING_H

#include "base/blocks.h"
#include "network/constant.h"
#include "network/network.h"

/* In all blocks together. */
static inline int mafat_pixel_width(int channels)
{
  int last = mafat_n_blocks(channels) - 1;
  return last * MAFAT_CHANNEL_BLOCK + mafat_block_width(channels, last);
}

/* In the blocks that channels [begin, end) lie in. */
static inline int mafat_pixel_width_of(int channels, struct mafat_span part)
{
  int first = part.begin / MAFAT_CHANNEL_BLOCK, end = mafat_n_blocks(part.end); /* none but the last of all is narrower */
  return end > first ? (end - 1 - first) * MAFAT_CHANNEL_BLOCK + mafat_block_width(channels, end - 1) : 0;
}

struct mafat_piece {
  int tensor, block;
  int lane;     /* first channel within the block */
  int n;        /* channels */
  int position; /* of the first one among the layer's input channels */
  int source;   /* of the band: all this is of the first one (network/sources.h) */
};

/* The pieces of input channels `channels`, in order of summation. Writes at
 * most `room`, returns how many there are. */
int mafat_pieces(const struct mafat_sources *sources, struct mafat_span channels,
                 struct mafat_piece *pieces, int room);

/* End of a slice of at least n input channels, if there are so many, that begins at
 * `channel`: where a piece ends. */
int mafat_slice_end(const struct mafat_sources *sources, int channel, int n);

/* End of the panel that begins at filter `first`, or of an ungrouped layer holds it; panels cross neither group
 * edges nor, in grouped convolutions, channel blocks. */
int mafat_panel_end(const struct mafat_layer *l, int first);
/* Floats between one tap's weights and the next in a panel of n filters. */
static inline int mafat_panel_width(int n_filters)
{
  return mafat_round_up(n_filters, MAFAT_PANEL_STEP);
}

/* Weights of int8 that a filter has in a panel that sums integers, of those that begin at filter `first`: for each piece
 * and tap its channels, rounded up to quads. Of a depthwise one, its taps. */
size_t mafat_quads_taps(const struct mafat_layer *l, int first);
enum { MAFAT_QUAD = 4 };

/* Of whole numbers that a filter has behind its weights: its bias, multiplier and shift. */
enum { MAFAT_INTEGERS_OF_FILTER = 3 };

/* Bytes of the panels before the one that begins at filter `first`, of a layer whose panels are alike. */
static inline size_t mafat_integer_panels_before(int first, size_t quads_taps)
{
  return (size_t)first * (quads_taps + MAFAT_INTEGERS_OF_FILTER * sizeof(int32_t));
}

/* The third row behind a panel that sums integers: shifts, and above their 16 bits what the panel's weights still have of
 * their zero point. (Where the rule is ONNX's, factors of negative sums alone.) */
static inline int mafat_shift_with_zero(int shift, int zero)
{
  return (int)((unsigned)zero << 16 | ((unsigned)shift & 0xffff));
}
static inline int mafat_zero_beside_shift(int both) { return both >> 16; }

/* A panel is [input channels in pieces][ky][kx][channel][width], then scale and bias of the width, which are
 * floats whatever the type of weights. For depthwise it is one block: [ky][kx][width]. Of a type that is scaled,
 * a piece's rows come in groups of MAFAT_SCALED_ROWS, the last one of what is left; behind each are scales of the
 * width, halves.
 *
 * Bytes of a panel of so much width before the weights of input channel `channel`, with which a piece begins, or
 * which is the number of all; of a flat layer's one piece with which a group begins. SIZE_MAX on overflow. */
size_t mafat_panel_offset(const struct mafat_layer *l, size_t width, int channel);
/* Of its scales and biases. */
static inline size_t mafat_panel_affine_bytes(size_t width)
{
  return width * 2 * sizeof(float);
}
/* Where a panel lies in the layer's packed weights: bytes before it.
 *
 * Where sums are whole numbers (kind.h: mafat_layer_sums_integers) it is
 * [pieces][ky][kx][channel / 4][width][4] int8, zeros behind a piece's last channel, then int32 of the width each: the bias
 * with what the input's zero point adds to it, the multiplier, the shift. For depthwise [ky][kx][width] int8, then
 * these. */
size_t mafat_packed_offset(const struct mafat_layer *l, int first_filter);
/* All of a layer's packed weights; 0 for layers without. Overflow of size_t saturates
 * to SIZE_MAX. */
size_t mafat_packed_layer_bytes(const struct mafat_layer *l);

/* ---- narrow weights ---- */

/* They are widened to floats some input channels at a time, so that these stay in a core's own caches: so many at
 * most, of which the last piece may be one channel only. Wide ones are all there. */
int mafat_widened_channels(const struct mafat_layer *l);
/* Of so many input channels of a direct convolution's panel, those that go into one call at most: as the caches want it. The
 * last piece may go beyond, unless weights are narrow. */
int mafat_conv_call_channels(const struct mafat_layer *l, int channels);
/* As floats, of so many channels of the layer's widest panel; 0: they are wide. SIZE_MAX on overflow. */
size_t mafat_widened_floats(const struct mafat_layer *l, int channels);
/* End of the channels from `channel` on that are widened at a time: where a piece ends. For layers without groups. */
int mafat_widened_end(const struct mafat_layer *l, int channel, int end);
/* End of the piece that begins at `channel`. */
int mafat_piece_end(const struct mafat_layer *l, int channel);

/* ---- as files have them ---- */

/* Filter by filter, so that some of them can be read by themselves? */
static inline bool mafat_order_has_filters(enum mafat_order order)
{
  return order == MAFAT_ORDER_FILTERS || order == MAFAT_ORDER_FILTERS_TAPS;
}

/* What weights in an order without filters are read by: each input and tap of all filters, or each
 * input of all groups. INT_MAX where there are more. */
int mafat_order_rows(const struct mafat_layer *l, enum mafat_order order);
/* Weights of one of them. */
uint64_t mafat_order_row(const struct mafat_layer *l, enum mafat_order order);

/* Packed weights of the first n_layers, bytes, each layer aligned to 64. */
size_t mafat_packed_bytes(const struct mafat_network *n, int n_layers);

#endif
