/* Kernels for networks of 8-bit integers: a table per level, separate from the float kernels
 * (runner/kernels/kernels.h), so that their code is resident only for such networks. Like float
 * kernels, they work on rows.
 *
 * Activations are unsigned bytes, weights are signed (network/quantization.h). Sums are exact in 32
 * bits, so all orders, levels, plans and threads give the same result.
 *
 * Sums are requantized by TFLite's rule, bit for bit. Each filter has a 31-bit multiplier (0, or at
 * least 2^30) and a shift from -31 to 30. Two roundings, the output's zero point and its bounds
 * follow; a left shift saturates. Alternatively ONNX's rule (MAFAT_REQUANTIZE_EVEN) multiplies the
 * sum as a float by a float factor and rounds once, ties to even; products and sums of floats are
 * never fused. Negative sums may have a factor of their own for a leaky rectifier.
 *
 * Padding contains the input's zero point. Its contribution is folded into the bias, as is that
 * part of the weights' zero point which depends on weights and counts alone: bias' = bias - zero *
 * sum(weight - weights' zero) over all taps.
 *
 * Kernels may read up to 3 bytes past a pixel's last channel and past a row's last pixel, with any
 * content. Kernels allocate nothing. Included by api/footprint.c,
 * runner/calibrate/calibrate_file.c, runner/engine and runner/kernels. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_H
#define MAFAT_RUNNER_KERNELS_INTEGER_H

#include "base/tuning.h"
#include "network/layer.h"
#include "network/quantization.h"
#include "network/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mafat_kernels;

/* Channels of one block as a kernel sees them. */
struct mafat_integer_block_slice {
  const uint8_t *const *rows; /* [in_row]: at the first tap of the first output column */
  int n_channels;             /* 1 ... 16; any number for the one block of a dense layer */
  int pixel_bytes;            /* between neighbouring columns */
};

/* Part of the panel's outputs in one channel block. */
struct mafat_integer_segment {
  uint8_t *const *rows; /* [row]: at the first output column, at the segment's first lane */
  int n_filters;        /* 16 if another segment follows */
  int pixel_bytes;
};

/* Requantization of a panel's filters: rows of the panel's width, stored after its weights. */
struct mafat_integer_finish {
  /* TFLite's rule: the lower 16 bits of shifts count. ONNX's rule: multipliers are the bits of
   * floats; shifts are those of negative sums' factors, 0 if equal */
  const int32_t *bias, *multipliers, *shifts;
  struct mafat_quantization out; /* zero point, bounds and rule */
};

/* Sums of all inputs of each output's window, needed for weights with a nonzero zero point. */
enum { MAFAT_INTEGER_INPUT_SUMS = 1024 };
struct mafat_integer_input_sums {
  bool known;
  int32_t at[MAFAT_INTEGER_INPUT_SUMS]; /* [row][column], if they fit */
};

/* List of runs that calls with the same inputs share; filled by the first call. */
enum { MAFAT_INTEGER_RUNS_ROOM = 410 };
struct mafat_integer_runs {
  bool known;
  void *capacity[MAFAT_INTEGER_RUNS_ROOM];
};

struct mafat_integer_conv_call {
  const struct mafat_integer_block_slice *block_slices;
  int n_block_slices;
  struct mafat_integer_segment segments[2]; /* if the call finishes */
  int n_segments;
  int n_rows, n_cols;    /* input row of tap ky for row r: r * stride + ky * dilation */
  struct mafat_window window; /* padding is part of the rows */
  /* [block][ky][kx][channel / 4][width][4]: zero-padded after a block's last channel */
  const int8_t *weights;
  int width;             /* of the panel: a multiple of 8, at most 32 */
  int first, end; /* filters to compute, multiples of 16, which the segments cover; end 0: all */
  int weights_zero;      /* -128 ... 127 */
  struct mafat_integer_finish to;
  bool start, finish;    /* begin with the bias; end with outputs */
  /* [row][column][width]: partial sums for the next call if this one does not finish */
  int32_t *sums;
  /* memory for what a level derives from the weights, first element 0 initially; kept for later
   * calls with the same weights, filters, window and channels. NULL: none */
  uint16_t *sorted;
  int sorted_capacity;       /* its elements */
  /* computed if unknown, kept for later calls with the same rows, columns and blocks. NULL: no
   * memory for them */
  struct mafat_integer_input_sums *input_sums;
  struct mafat_integer_runs *runs; /* like input_sums, and for the same window, too */
};

/* Depthwise convolution of up to 16 channels; weights [ky][kx][width]. */
struct mafat_integer_depthwise_call {
  const uint8_t *const *rows; /* [in_row]: at the first tap of the first output column */
  uint8_t *const *out;        /* [row] */
  int n_channels, in_pixel_bytes, out_pixel_bytes;
  int n_rows, n_cols;
  struct mafat_window window; /* padding is part of the rows */
  const int8_t *weights;
  int width;
  int weights_zero;
  struct mafat_integer_finish to;
};

/* One output row of pooling for up to 16 channels: maximum, or mean of the taps inside the map,
 * within the output's bounds. Input and output have one scale. By ONNX's rule, means are computed
 * in floats: dequantized values are summed row by row, divided by their count, then by the output's
 * scale, with its rounding of ties. */
struct mafat_integer_pool_call {
  const uint8_t *const *rows; /* [n_rows]: input rows inside the map, at column 0 of `in` */
  int n_rows;                 /* 1 ... size: rows of the window inside the map */
  struct mafat_taps taps;     /* of columns; padding is part of first_col */
  int first_col;              /* input column of the first tap of output 0; may be negative */
  int in_begin, in_end;       /* existing columns, relative to the row pointers */
  uint8_t *out;
  int n_cols;
  int n_channels, in_pixel_bytes, out_pixel_bytes;
  struct mafat_quantization to;
  int in_zero;                /* ONNX means: zero point and scale of the input */
  float in_scale;
  /* TFLite means of signed data: ties are rounded away from its zero, which is byte 128 */
  bool from_signed;
};

/* Elementwise y of x and z. If z's pixel distance is 0, one pixel of z serves all columns. */
struct mafat_integer_blend_call {
  enum mafat_blend blend; /* MAFAT_BLEND_ADD, _MUL, or _PRELU (x if not negative, else x * z) */
  bool subtract;          /* x - z */
  const uint8_t *x, *z;
  uint8_t *y;
  int n_cols, n_channels;
  int x_pixel_bytes, z_pixel_bytes, y_pixel_bytes;
  bool z_single;          /* a pixel of z is one byte for all channels */
  int x_zero, z_zero;
  /* for sums, applied to 2^20 times x and z: shifts at most 0. PRELU: x_scale for non-negative x */
  struct mafat_multiplier x_scale, z_scale;
  struct mafat_multiplier scale;            /* of the sum or product */
  /* ONNX's rule: x and z to the output's units, then added; `factor` of the product. PRELU:
   * x_factor of non-negative x */
  float x_factor, z_factor, factor;
  struct mafat_quantization to;
};

enum { MAFAT_SORTED_ROOM = 24 << 10 }; /* elements for all panels of a step, on the stack */

struct mafat_integer_kernels {
  const char *name; /* name in base/levels.def */
  bool sorts;       /* conv uses the call's `sorted` memory */
  void (*conv)(const struct mafat_integer_conv_call *c);
  void (*depthwise)(const struct mafat_integer_depthwise_call *c);
  void (*maxpool)(const struct mafat_integer_pool_call *c);
  void (*avgpool)(const struct mafat_integer_pool_call *c);
  void (*blend)(const struct mafat_integer_blend_call *c);
  /* y = table[x], pixel by pixel (runner/kernels/integer_functions.h). */
  void (*table)(const uint8_t *x, int x_pixel_bytes, uint8_t *y, int y_pixel_bytes, int n_cols,
                int n_channels, const uint8_t *table);
  /* sums[channel] += bytes of n_cols pixels, at most 16 channels; for means over maps, row after
   * row. */
  void (*add_pixels)(const uint8_t *x, int pixel_bytes, int n_cols, int n_channels, int32_t *sums);
  /* Quantizes floats (network/quantization.h). */
  void (*reals)(const struct mafat_quantization *q, const float *from, uint8_t *to, int n);
};

/* Returns the best integer kernels of this processor for that float level. */
const struct mafat_integer_kernels *mafat_integer_kernels_find(const struct mafat_kernels *level);
/* Lists all kernels that this processor supports; returns their number. */
int mafat_integer_kernels_list(const struct mafat_integer_kernels **list, int capacity);

#endif
