/* Kernels for networks of 8-bit integers: a table for each level, separate from the float kernels
 * (runner/kernels/kernels.h), so that their code is resident only for such networks. Like float
 * kernels, they work on rows.
 *
 * Activations are unsigned bytes, weights are signed (network/quantization.h). Sums are exact in 32
 * bits, so all orders, levels, plans and threads give the same result.
 *
 * Sums are requantized by one of two rules. TFLite's rule gives the same bits as TFLite: each
 * filter has a 32-bit multiplier (0, or of magnitude 2^30 to 2^31) and a shift from -31 to 30. If
 * the shift is positive, the sum is first shifted left, which saturates. The sum times multiplier /
 * 2^31 is rounded. If the shift is negative, the result is shifted right and rounded again. Then
 * the output's zero point is added, and the result is clamped to the output's bounds. ONNX's rule
 * (MAFAT_REQUANTIZE_EVEN): the sum is converted to float, multiplied by a float factor and rounded
 * once, ties to even; float products and sums are never fused. Negative sums may have a factor of
 * their own, for a leaky rectifier.
 *
 * Padding contains the input's zero point, in_zero. The contribution of zero points that does not
 * depend on the input is part of the bias that kernels get: bias - in_zero * the sum of (weight -
 * weights_zero) over all taps.
 *
 * Kernels may read up to 3 bytes of any content past a pixel's last channel and past a row's last
 * pixel. Kernels allocate nothing. Included by api/footprint.c, runner/calibrate/calibrate_file.c,
 * runner/engine and runner/kernels. */
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

/* Input channels of a call that are in the same channel block (base/blocks.h). */
struct mafat_integer_block_slice {
  const uint8_t *const *rows; /* [in_row]: address of the first tap of the first output column */
  int n_channels;             /* 1 ... 16; any number for the one block of a dense layer */
  int pixel_bytes;            /* bytes from column to column */
};

/* Part of the panel's outputs in one channel block. */
struct mafat_integer_segment {
  uint8_t *const *rows; /* [row]: address of the first output column and the segment's first lane */
  int n_filters;        /* 16 if there is another segment */
  int pixel_bytes;
};

/* Arrays for the requantization of a panel's filters. Each has as many elements as the panel is
 * wide; they are stored after the panel's weights. */
struct mafat_integer_finish {
  /* TFLite's rule: a shift is the lower 16 bits of its entry. ONNX's rule: multipliers hold the
   * bits of float factors, and shifts the bits of the factors for negative sums; a shift of 0:
   * negative sums have the same factor */
  const int32_t *bias, *multipliers, *shifts;
  struct mafat_quantization out; /* zero point, bounds and rule */
};

/* For each output, the sum of all inputs in its window. Needed for weights with a nonzero zero
 * point. */
enum { MAFAT_INTEGER_INPUT_SUMS = 1024 };
struct mafat_integer_input_sums {
  bool known;
  int32_t at[MAFAT_INTEGER_INPUT_SUMS]; /* [row][column]; used if all outputs of the call fit */
};

/* Memory for a list of runs (integer_conv.h), which the first of several calls with the same inputs
 * fills. */
enum { MAFAT_INTEGER_RUNS_ROOM = 410 };
struct mafat_integer_runs {
  bool known; /* the list is filled */
  void *memory[MAFAT_INTEGER_RUNS_ROOM];
};

struct mafat_integer_conv_call {
  const struct mafat_integer_block_slice *block_slices;
  int n_block_slices;
  struct mafat_integer_segment segments[2]; /* where outputs are stored, if the call finishes */
  int n_segments;
  int n_rows, n_cols;    /* tap ky of row r reads in_row r * stride + ky * dilation */
  struct mafat_window window; /* its padding is not used: `rows` have padding rows and columns */
  /* [block][ky][kx][channel / 4][width][4]: zeros after a block's last channel */
  const int8_t *weights;
  int width;             /* width of the panel: a multiple of 8, at most 32 */
  /* computes filters [first, end) of the panel: multiples of 16; end 0: all. Segments begin at
   * `first` */
  int first, end;
  int weights_zero;      /* -128 ... 127 */
  struct mafat_integer_finish to;
  /* start: sums begin with the bias, else with `sums`; finish: outputs are stored, else sums */
  bool start, finish;
  /* [row][column][width]: partial sums, if the call does not start or does not finish */
  int32_t *sums;
  /* memory for results that a kernel derives from the weights, for later calls with the same
   * weights, filters, window and channels. The caller sets the first element to 0 before the first
   * call. NULL: none */
  uint16_t *sorted;
  int sorted_capacity;       /* number of elements of `sorted` */
  /* memory that the kernel fills, unless it is `known`, for later calls with the same rows, columns
   * and blocks; for `runs` also the same window. NULL: none */
  struct mafat_integer_input_sums *input_sums;
  struct mafat_integer_runs *runs;
};

/* Depthwise convolution of up to 16 channels; weights [ky][kx][width]. */
struct mafat_integer_depthwise_call {
  const uint8_t *const *rows; /* [in_row]: at the first tap of the first output column */
  uint8_t *const *out;        /* [row] */
  int n_channels, in_pixel_bytes, out_pixel_bytes;
  int n_rows, n_cols;
  struct mafat_window window; /* its padding is not used: `rows` have padding rows and columns */
  const int8_t *weights;
  int width;
  int weights_zero;
  struct mafat_integer_finish to;
};

/* One output row of pooling for up to 16 channels: maximum, or mean of the taps inside the map,
 * clamped to the output's bounds. Input and output have the same scale. By ONNX's rule, means are
 * computed in floats: dequantized values are summed row by row, divided by their count, then by the
 * output's scale, and rounded with ties to even. */
struct mafat_integer_pool_call {
  const uint8_t *const *rows; /* [n_rows]: input rows inside the map, at input column 0 */
  int n_rows;                 /* 1 ... size: rows of the window inside the map */
  struct mafat_taps taps;     /* of columns; their padding is not used: first_col includes it */
  int first_col;              /* input column of the first tap of output 0; may be negative */
  int in_begin, in_end;       /* columns inside the map, relative to the row pointers */
  uint8_t *out;
  int n_cols;
  int n_channels, in_pixel_bytes, out_pixel_bytes;
  struct mafat_quantization to;
  int in_zero;                /* means by ONNX's rule: zero point and scale of the input */
  float in_scale;
  /* means by TFLite's rule: the file's values are signed, and ties are rounded away from byte 128,
   * which is their 0; false: away from byte 0 */
  bool from_signed;
};

/* Elementwise y from x and z. If z_pixel_bytes is 0, one pixel of z is used for all columns. */
struct mafat_integer_blend_call {
  enum mafat_blend blend; /* MAFAT_BLEND_ADD, _MUL, or _PRELU (x if not negative, else x * z) */
  bool subtract;          /* with MAFAT_BLEND_ADD: x - z */
  const uint8_t *x, *z;
  uint8_t *y;
  int n_cols, n_channels;
  int x_pixel_bytes, z_pixel_bytes, y_pixel_bytes;
  bool z_single;          /* a pixel of z is one byte for all channels */
  int x_zero, z_zero;
  /* TFLite's rule: x_scale and z_scale are applied to 2^20 times x and z before these are added
   * (shifts at most 0), and `scale` to the sum or product. PRELU: x_scale is applied to x if x is
   * not negative */
  struct mafat_multiplier x_scale, z_scale;
  struct mafat_multiplier scale;
  /* ONNX's rule: x_factor and z_factor multiply x and z before they are added; `factor` multiplies
   * the product. PRELU: x_factor multiplies x if x is not negative */
  float x_factor, z_factor, factor;
  struct mafat_quantization to;
};

enum { MAFAT_SORTED_ROOM = 24 << 10 }; /* elements of `sorted` for all panels of a step */

struct mafat_integer_kernels {
  const char *name; /* name in base/levels.def */
  bool sorts;       /* conv uses the call's `sorted` memory */
  void (*conv)(const struct mafat_integer_conv_call *c);
  void (*depthwise)(const struct mafat_integer_depthwise_call *c);
  void (*maxpool)(const struct mafat_integer_pool_call *c);
  void (*avgpool)(const struct mafat_integer_pool_call *c);
  void (*blend)(const struct mafat_integer_blend_call *c);
  /* y = table[x] for each element (runner/kernels/integer_functions.h). */
  void (*table)(const uint8_t *x, int x_pixel_bytes, uint8_t *y, int y_pixel_bytes, int n_cols,
                int n_channels, const uint8_t *table);
  /* Adds the bytes of n_cols pixels, with at most 16 channels, to sums[channel]; for means over
   * maps. */
  void (*add_pixels)(const uint8_t *x, int pixel_bytes, int n_cols, int n_channels, int32_t *sums);
  /* Quantizes floats (network/quantization.h). */
  void (*reals)(const struct mafat_quantization *q, const float *from, uint8_t *to, int n);
};

/* Returns the best integer kernels of this processor that belong to the float level `level`. */
const struct mafat_integer_kernels *mafat_integer_kernels_find(const struct mafat_kernels *level);
/* Lists all kernels that this processor supports; returns their number. */
int mafat_integer_kernels_list(const struct mafat_integer_kernels **list, int capacity);

#endif
