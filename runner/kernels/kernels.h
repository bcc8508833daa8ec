/* Float kernels: a table of function pointers for each level (instruction set). A kernel works on
 * rows, not tensors: it gets arrays of row pointers for inputs and outputs, the weights of a panel
 * (up to MAFAT_PANEL filters) and a range of input channels. Whether a plan computes tiles, rows or
 * panels only changes how these arrays are filled. Kernels allocate nothing and read no globals.
 *
 * The order of summation is the same for every plan. Each output element has one accumulator that
 * starts at +0. Channel blocks are added in order, and within a block ky, kx, channel. Then scale
 * and bias are applied by one multiply-add, then the activation. Padding is multiplied, too. A
 * convolution's outputs hold partial sums until its call ends, so they must not alias its inputs.
 *
 * Levels of the *fused* class round a product and its addition once; levels of the *plain* class
 * round both. Levels of one class give the same bits. Included by api, programs/mafat,
 * runner/calibrate, runner/engine, runner/image and runner/kernels. */
#ifndef MAFAT_RUNNER_KERNELS_KERNELS_H
#define MAFAT_RUNNER_KERNELS_KERNELS_H

#include "network/network.h"
#include "base/tuning.h"
#include "base/winograd.h"
#include "network/window.h"

/* Input channels of a call that are in the same channel block (base/blocks.h). */
struct mafat_conv_block_slice {
  const float *const *rows; /* [in_row]: address of the first tap of the first output column */
  int n_channels;           /* 1 ... 16; any number for the one block of a connected layer */
  int pixel_floats;         /* floats from column to column */
};

/* Part of the panel's outputs in one channel block. */
struct mafat_conv_segment {
  float *const *rows; /* [row]: address of the first output column and the segment's first lane */
  int n_filters;      /* 1 ... 16; 16 if another segment follows */
  int pixel_floats;
};

struct mafat_conv_call {
  const struct mafat_conv_block_slice *block_slices;
  int n_block_slices;
  struct mafat_conv_segment segments[2];
  int n_segments;
  /* rows and columns of outputs before `pool`; tap ky of row r reads in_row r * stride + ky *
   * dilation */
  int n_rows, n_cols;
  struct mafat_window window; /* its padding is not used: `rows` have padding rows and columns */
  const float *weights; /* [block][ky][kx][channel][width] */
  const float *scale, *bias;
  int width;
  struct mafat_activating activation;
  /* start: sums begin at zero, else with the partial sums in the outputs; finish: scale, bias and
   * activation are applied, else the outputs are partial sums */
  bool start, finish;
  /* store only the maximum of each 2 x 2 outputs, in half as many rows and columns, rounded up */
  bool pool;
};

/* Winograd convolution (base/winograd.h): a tile of outputs is A'[ (G g G') * (B' d B) ]A for an
 * input window d and filters g. An element of a transformed window is called a point. Transformed
 * values are stored point by point, so that there is one matrix product for each point. */

/* Input transform B' d B for a row of tiles and up to 16 channels. */
struct mafat_winograd_input_call {
  const float *const *rows; /* [window]: address of the first column of tile 0 */
  int n_cols;               /* columns from there on that are in the map; others count as zero */
  int n_channels, pixel_floats;
  int n_tiles;
  float *values;            /* point p of tile t: values + p * point_floats + t * tile_floats */
  size_t point_floats;
  int tile_floats;
};

/* Matrix products: for each point, sums over channels for each tile and filter of the panel, in
 * order of channels, with one multiply-add each. At most one of start and apart is set. */
struct mafat_product_call {
  /* point p of tile t: values + p * values_point + t * tile_floats, channels contiguous */
  const float *values;
  const float *weights; /* point p: weights + p * weights_point, [channel][width] */
  float *sums;          /* point p: sums + p * sums_point, [tile][width] */
  size_t values_point, weights_point, sums_point;
  int n_points, n_tiles, n_channels;
  int tile_floats, width;
  const float *ahead;   /* floats needed soon, which the kernel prefetches */
  int n_ahead;
  bool start;           /* sums begin at zero, else with the values in `sums` */
  bool apart;           /* these channels are summed separately, then added to `sums` */
};

/* Output transform A'[...]A, scale, bias and activation for a row of tiles and up to 16 filters. */
struct mafat_winograd_output_call {
  const float *values; /* point p of tile t: values + p * point_floats + t * tile_floats */
  size_t point_floats;
  int tile_floats;
  int n_tiles;
  float *const *rows;  /* [n_rows], or [(n_rows + 1) / 2] with `pool`: first output column */
  int n_rows, n_cols;  /* rows and columns of outputs before `pool`; at most the rows of a tile */
  int n_filters, pixel_floats;
  const float *scale, *bias;
  struct mafat_activating activation;
  bool pool;           /* as in struct mafat_conv_call */
};

/* Depthwise convolution of up to 16 channels; weights [ky][kx][width]. */
struct mafat_depthwise_call {
  const float *const *rows; /* [in_row]: at the first tap of the first output column */
  float *const *out;        /* [row] */
  int n_channels, in_pixel_floats, out_pixel_floats;
  int n_rows, n_cols;
  struct mafat_window window; /* its padding is not used: `rows` have padding rows and columns */
  const float *weights, *scale, *bias;
  int width;
  struct mafat_activating activation;
};

/* One output row of pooling for up to 16 channels: maximum or mean of each window. A mean is summed
 * from +0 by row, then column, and divided by the number of taps, including those in padding that
 * counts. Every window has a tap in the map. */
struct mafat_pool_call {
  const float *const *rows; /* [n_rows]: input rows inside the map, at input column 0 */
  int n_rows;               /* 1 ... size: rows of the window inside the map */
  struct mafat_taps taps;   /* of columns; their padding is not used: first_col includes it */
  int first_col;            /* input column of the first tap of output 0; may be negative */
  int in_begin, in_end;     /* columns inside the map, relative to the row pointers */
  /* padding that a mean counts: rows of the window outside the map; columns before in_begin and
   * after in_end */
  int padded_rows, padded_before, padded_after;
  float *out;
  int n_cols;
  int n_channels, in_pixel_floats, out_pixel_floats;
};

/* Elementwise y = activation(x blended with z); without z, y = activation(x). MAFAT_BLEND_PRELU is
 * z * min(x, 0) + max(x, 0), rounded once. If z_pixel_floats is 0, one pixel of z is used for all
 * columns. */
struct mafat_blend_call {
  enum mafat_blend blend;
  const float *x, *z; /* z may be NULL */
  float *y;
  int n_cols, n_channels;
  int x_pixel_floats, z_pixel_floats, y_pixel_floats;
  bool z_single;      /* a pixel of z is one float for all channels */
  float alpha, beta;  /* factors of MAFAT_BLEND_ADD */
  struct mafat_activating activation;
};

/* A pixel of a resized line: a weighted sum of two source pixels, which begin at bytes first and
 * second. */
struct mafat_resample_tap {
  int first, second;
  float first_weight, second_weight;
};

/* most bytes of a line that one call uses: as floats on the stack they are a small part of the
 * first-level cache */
enum { MAFAT_RESAMPLE_BYTES = 768 };

/* Part of a resized line, from two stored lines. Bytes are divided by 255 and rounded once; then
 * each operation is rounded. A pixel is computed from pixels a and b of the first line and c and d
 * of the second, with the lines' weights w0 and w1 and the tap's weights `first` and `second`. If
 * the line is a row, it is w0 * (first * a + second * b) + w1 * (first * c + second * d); if the
 * line is a column, it is first * (w0 * a + w1 * c) + second * (w0 * b + w1 * d). */
struct mafat_resample_call {
  const uint8_t *lines[2];
  float weights[2];   /* weights of the lines */
  bool column;
  const struct mafat_resample_tap *taps; /* [n_pixels] */
  int n_pixels, n_channels; /* 1 or 3 channels, interleaved */
  int begin, n_bytes; /* range of a line's bytes that the taps use */
  float *out;
  size_t out_stride;  /* floats between pixels; n_channels for a row */
};

/* Transforms of one tile size. */
struct mafat_winograd_kernels {
  /* Weight transform G g G' for n channels of a panel: weights [ky][kx][channel][width] to values +
   * point * point_floats + channel * width. */
  void (*weights)(const float *weights, int n_channels, int width, float *values,
                  size_t point_floats);
  void (*input)(const struct mafat_winograd_input_call *c);
  void (*output)(const struct mafat_winograd_output_call *c);
};

struct mafat_kernels {
  const char *name; /* name in base/levels.def */
  bool fused;
  void (*conv)(const struct mafat_conv_call *c);
  struct mafat_winograd_kernels winograd[MAFAT_N_WINOGRADS]; /* [enum mafat_winograd_size] */
  void (*product)(const struct mafat_product_call *c);
  void (*depthwise)(const struct mafat_depthwise_call *c);
  void (*maxpool)(const struct mafat_pool_call *c);
  void (*avgpool)(const struct mafat_pool_call *c);
  void (*blend)(const struct mafat_blend_call *c);
  /* y = activation(x * scale[channel] + bias[channel]) */
  void (*scale)(const float *x, int x_pixel_floats, float *y, int y_pixel_floats, int n_cols,
                int n_channels, const float *scale, const float *bias,
                struct mafat_activating activation);
  void (*activate)(float *x, size_t n, struct mafat_activating activation);
  /* Softmax of n floats, with Darknet's `temperature`. in and out may be equal. */
  void (*softmax)(const float *in, float *out, size_t n, float temperature);
  /* out = bytes / 255, rounded once */
  void (*scale_bytes)(const uint8_t *bytes, float *out, int n);
  void (*resample)(const struct mafat_resample_call *c);
  /* [enum mafat_dtype] Widens weights [row][width] of a narrow type to floats exactly; NULL for
   * other types. For int4, each MAFAT_SCALED_ROWS rows (and the rest) are followed by a
   * half-precision scale per column. `width` is that of a panel. `from` is aligned to four
   * bytes. */
  void (*widen[MAFAT_N_DTYPES])(const void *from, int n_rows, int width, float *to);
};

/* Counts of rows of base/levels.def. */
enum {
  MAFAT_N_LEVELS = 0
#define LEVEL(...) + 1
#include "base/levels.def"
  , MAFAT_N_INTEGER_LEVELS = 0
#define INTEGERS(...) + 1
#include "base/levels.def"
};

/* Returns the best level of this processor up to `highest` (NULL: any), also if the processor does
 * not support `highest` itself. NULL for an unknown name. */
const struct mafat_kernels *mafat_kernels_find(const char *highest);
/* All names, slowest first, for messages: "portable, neon, ..." */
const char *mafat_kernels_names(void);
/* Lists the levels that this processor supports, slowest first; returns their number. */
int mafat_kernels_list(const struct mafat_kernels **list, int capacity);

#endif
