/* The kernels: one table of function pointers per CPU level. A kernel sees
 * rows, not tensors: arrays of row pointers in, arrays of row pointers out, a
 * panel of filters, a range of input channels. Grid, rows and panels differ
 * only in who fills the arrays. Kernels allocate nothing and read no globals.
 *
 * Order of summation, the same for every plan: per output element one
 * accumulator starting at +0; pieces in order; within a piece ky, kx, channel;
 * then scale and bias in one multiply-add, activation. Padding is multiplied. A
 * convolution's outputs hold sums until its call ends: they are none of its inputs.
 * Levels of the *fused* class use a fused multiply-add for every product and
 * agree bit for bit; *plain* rounds products, with bits of its own. */
#ifndef MAFAT_RUNNER_KERNELS_KERNELS_H
#define MAFAT_RUNNER_KERNELS_KERNELS_H

#include "network/network.h"
#include "base/tuning.h"
#include "base/winograd.h"
#include "network/window.h"

/* Channels of one block as a kernel sees them. */
struct mafat_conv_piece {
  const float *const *rows; /* [in_row]: at the first tap of the first output column */
  int n_channels;           /* 1 ... 16 (a connected layer's one piece: any number) */
  int pixel_floats;         /* between neighbouring columns */
};

/* Part of the panel's outputs that lies in one channel block. */
struct mafat_conv_segment {
  float *const *rows; /* [row]: at the first output column, at the segment's first lane */
  int n_filters;      /* 16 where another segment follows */
  int pixel_floats;
};

struct mafat_conv_call {
  const struct mafat_conv_piece *pieces;
  int n_pieces;
  struct mafat_conv_segment segments[2];
  int n_segments;
  int n_rows, n_cols;   /* of sums; input row of tap ky for row r: r * stride + ky * dilation */
  struct mafat_window window; /* its padding is in the rows */
  const float *weights; /* [piece][ky][kx][channel][width] */
  const float *scale, *bias;
  int width;
  struct mafat_activating activation;
  bool start, finish;   /* begin at zero; end with scale, bias, activation (else raw sums) */
  bool pool;            /* store the largest of each 2 x 2 finished outputs only, in half as many
                           rows and columns (rounded up: the last may see one row or column) */
};

/* Winograd's convolutions (base/winograd.h): a tile of outputs is made from a window
 * of inputs d and filters g as A'[ (G g G') * (B' d B) ]A. Transformed values are kept
 * by point, so that the products are a matrix product for each, `product`. */

/* B' d B for a row of tiles and one run of up to 16 channels. */
struct mafat_winograd_input_call {
  const float *const *rows; /* [window]: at the first column of tile 0 */
  int n_cols;               /* columns that exist from there on; the rest count as zero */
  int n_channels, pixel_floats;
  int n_tiles;
  float *values;            /* point p of tile t: values + p * point_floats + t * tile_floats */
  size_t point_floats;
  int tile_floats;
};

/* For each point, values times weights: a sum for each tile and filter of the panel,
 * its channels in order, each added by one multiply-add. start or apart, or neither. */
struct mafat_product_call {
  const float *values;  /* point p of tile t: values + p * values_point + t * tile_floats, channels side by side */
  const float *weights; /* point p: weights + p * weights_point, [channel][width] */
  float *sums;          /* point p: sums + p * sums_point, [tile][width] */
  size_t values_point, weights_point, sums_point;
  int n_points, n_tiles, n_channels;
  int tile_floats, width;
  const float *ahead;   /* floats that are needed soon: fetched meanwhile */
  int n_ahead;
  bool start;           /* begin at zero; else go on with what the sums hold */
  bool apart;           /* these channels are summed from zero, by themselves, then added to what the sums hold */
};

/* A'[...]A, scale, bias, activation for a row of tiles and up to 16 filters. */
struct mafat_winograd_output_call {
  const float *values; /* as above */
  size_t point_floats;
  int tile_floats;
  int n_tiles;
  float *const *rows;  /* [n_rows], with `pool` [(n_rows + 1) / 2]: at the first output column */
  int n_rows, n_cols;  /* 1 ... outputs rows of sums; columns */
  int n_filters, pixel_floats;
  const float *scale, *bias;
  struct mafat_activating activation;
  bool pool;           /* as in a convolution */
};

/* One run of up to 16 channels, each filtered by itself: weights [ky][kx][width]. */
struct mafat_depthwise_call {
  const float *const *rows; /* [in_row]: at the first tap of the first output column */
  float *const *out;        /* [row] */
  int n_channels, in_pixel_floats, out_pixel_floats;
  int n_rows, n_cols;
  struct mafat_window window; /* its padding is in the rows */
  const float *weights, *scale, *bias;
  int width;
  struct mafat_activating activation;
};

/* One row of output for a run of up to 16 channels: the largest of each window, or the mean. A
 * mean is summed from +0 row by row, column by column, then divided by how many they are and how many
 * taps more lie in padding that counts; every window has one in the map. */
struct mafat_pool_call {
  const float *const *rows; /* [n_rows]: input rows inside the map, at column 0 of `in` */
  int n_rows;               /* 1 ... size: the window's rows that lie inside the map */
  struct mafat_taps taps;   /* of columns; its padding is in first_col */
  int first_col;            /* input column of the first tap of output 0, may be negative */
  int in_begin, in_end;     /* columns that exist: relative to the row pointers */
  int padded_rows, padded_before, padded_after; /* padding that counts: taps of rows; columns beside those that exist */
  float *out;
  int n_cols;
  int n_channels, in_pixel_floats, out_pixel_floats;
};

/* y = activation(x blended with z), pixel by pixel; MAFAT_BLEND_PRELU is z * min(x, 0) + max(x, 0), which rounds once; without z, y = activation(x). A z
 * whose pixels are 0 apart is one pixel for all columns. */
struct mafat_blend_call {
  enum mafat_blend blend;
  const float *x, *z; /* z may be NULL */
  float *y;
  int n_cols, n_channels;
  int x_pixel_floats, z_pixel_floats, y_pixel_floats;
  bool z_single;      /* a pixel of z is one float, for all channels */
  float alpha, beta;  /* of MAFAT_BLEND_ADD */
  struct mafat_activating activation;
};

/* A pixel of a resized line, between two of what it is made from, whose bytes begin at first and second. */
struct mafat_resample_tap {
  int first, second;
  float first_weight, second_weight;
};

/* What taps of one call reach of a line, at most: as floats on the stack they fill little of the first cache. */
enum { MAFAT_RESAMPLE_BYTES = 768 };

/* Part of a resized picture's row, or of its column where the stored lines are columns, from two of them. Of their
 * bytes / 255, rounded once, and each operation rounded: w0 * (first * a + second * b) + w1 * (first * c + second * d);
 * of a column first * (w0 * a + w1 * c) + second * (w0 * b + w1 * d). */
struct mafat_resample_call {
  const uint8_t *lines[2];
  float weights[2];   /* of the lines */
  bool column;
  const struct mafat_resample_tap *taps; /* [n_pixels] */
  int n_pixels, n_channels; /* 1 or 3 channels, side by side */
  int begin, n_bytes; /* what taps reach of a line */
  float *out;
  size_t out_stride;  /* from pixel to pixel; of a row n_channels */
};

/* The transforms of one size. */
struct mafat_winograd_kernels {
  /* G g G' for n channels of a panel: weights [ky][kx][channel][width] to
   * values + point * point_floats + channel * width. */
  void (*weights)(const float *weights, int n_channels, int width, float *values, size_t point_floats);
  void (*input)(const struct mafat_winograd_input_call *c);
  void (*output)(const struct mafat_winograd_output_call *c);
};

struct mafat_kernels {
  const char *name; /* as base/levels.def has it */
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
  /* Softmax of n floats, `temperature` as Darknet has it. in and out may be one. */
  void (*softmax)(const float *in, float *out, size_t n, float temperature);
  /* out = bytes / 255, rounded once */
  void (*scale_bytes)(const uint8_t *bytes, float *out, int n);
  void (*resample)(const struct mafat_resample_call *c);
  /* [enum mafat_dtype]: weights of a narrow type as floats, exactly; NULL of other types. [row][width] numbers; of
   * int4 each MAFAT_SCALED_ROWS rows, and the rest of them, are followed by a half for each of the width, by which theirs
   * are multiplied. width: a panel's. `from` is at a multiple of four bytes. */
  void (*widen[MAFAT_N_DTYPES])(const void *from, int n_rows, int width, float *to);
};

/* Rows of base/levels.def. */
enum {
  MAFAT_N_LEVELS = 0
#define LEVEL(...) + 1
#include "base/levels.def"
  , MAFAT_N_INTEGER_LEVELS = 0
#define INTEGERS(...) + 1
#include "base/levels.def"
};

/* The best level of this CPU whose name is at most `highest` (NULL: the best there is). NULL for an
 * unknown name; a level of another machine means the best that this one has below it. */
const struct mafat_kernels *mafat_kernels_find(const char *highest);
/* All names, slowest first, for messages: "portable, neon, ..." */
const char *mafat_kernels_names(void);
/* All levels this CPU can run, slowest first; returns how many. */
int mafat_kernels_list(const struct mafat_kernels **list, int room);

#endif
