/* The kernels of networks of 8-bit integers: a table for each level, beside the floats' (kernels.h) and apart from it, so
 * that their code is resident for such networks alone. A kernel sees rows, as the floats' do.
 *
 * Numbers are unsigned bytes, weights signed ones (network/quantization.h). Sums are exact in 32 bits: any order gives
 * the same, and so do all levels, plans and threads. What comes of a sum is TFLite's rule, bit for bit: a multiplier of 31
 * bits, 0 or from 2^30 on, and a shift from -31 to 30 for each filter, two roundings, the output's zero point, its bounds.
 * A shift to the left saturates. Or it is ONNX's (MAFAT_REQUANTIZE_EVEN): the sum as a float times a float factor, rounded
 * once, halves to the even number; products and sums of floats are never fused. Negative sums may have a factor of their own,
 * which makes a sloped rectifier of it (leaky).
 *
 * Padding holds the input's zero point. Its share of the sums, and the weights' zero point's where it depends on weights
 * and counts alone, is in the bias: bias' = bias - zero * sum(weight - weights' zero) over all taps.
 *
 * Up to 3 bytes behind a pixel's last channel, and up to 3 behind a row's last pixel, may be read, whatever they are. */
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
struct mafat_integer_piece {
  const uint8_t *const *rows; /* [in_row]: at the first tap of the first output column */
  int n_channels;             /* 1 ... 16 (a dense layer's one piece: any number) */
  int pixel_bytes;            /* between neighbouring columns */
};

/* Part of the panel's outputs that lies in one channel block. */
struct mafat_integer_segment {
  uint8_t *const *rows; /* [row]: at the first output column, at the segment's first lane */
  int n_filters;        /* 16 where another segment follows */
  int pixel_bytes;
};

/* What sums of a panel's filters become: rows of its width, as they lie behind its weights. */
struct mafat_integer_finish {
  const int32_t *bias, *multipliers, *shifts; /* of shifts the lower 16 bits count; of ONNX's rule multipliers are the bits of
                                                 floats, and shifts those of negative sums' factors, 0 where
                                                 they are the same */
  struct mafat_quantization out; /* its zero point, its bounds and the rule */
};

/* Of all that the window of an output reads: what weights take whose zero point is not 0. */
enum { MAFAT_INTEGER_INPUT_SUMS = 1024 };
struct mafat_integer_input_sums {
  bool known;
  int32_t at[MAFAT_INTEGER_INPUT_SUMS]; /* [row][column], where there are no more */
};

/* What calls that read the same find out about it: room that is theirs, filled where it is not known. */
enum { MAFAT_INTEGER_RUNS_ROOM = 410 };
struct mafat_integer_runs {
  bool known;
  void *room[MAFAT_INTEGER_RUNS_ROOM];
};

struct mafat_integer_conv_call {
  const struct mafat_integer_piece *pieces;
  int n_pieces;
  struct mafat_integer_segment segments[2]; /* where the call finishes */
  int n_segments;
  int n_rows, n_cols;    /* input row of tap ky for row r: r * stride + ky * dilation */
  struct mafat_window window; /* its padding is in the rows */
  const int8_t *weights; /* [piece][ky][kx][channel / 4][width][4]: zeros behind a piece's last channel */
  int width;             /* of the panel: a multiple of 8, at most 32 */
  int first, end;        /* filters of it that are summed, multiples of 16, of which the segments are; an end of 0: all */
  int weights_zero;      /* -128 ... 127 */
  struct mafat_integer_finish to;
  bool start, finish;    /* begin with the bias; end with outputs */
  int32_t *sums;         /* [row][column][width]: what a call leaves that does not finish, and the next begins with */
  uint16_t *sorted;      /* room for what a level finds out about these weights, the first number 0 at first: kept for later calls with
                            the same weights, filters, window and channels of pieces. NULL: there is none */
  int sorted_room;       /* numbers */
  struct mafat_integer_input_sums *input_sums; /* made where they are not known, kept for later calls with the same rows, columns and
                                                  pieces. NULL: there is no room for them */
  struct mafat_integer_runs *runs; /* as input_sums, and of the same window, too */
};

/* One run of up to 16 channels, each filtered by itself: weights [ky][kx][width]. */
struct mafat_integer_depthwise_call {
  const uint8_t *const *rows; /* [in_row]: at the first tap of the first output column */
  uint8_t *const *out;        /* [row] */
  int n_channels, in_pixel_bytes, out_pixel_bytes;
  int n_rows, n_cols;
  struct mafat_window window; /* its padding is in the rows */
  const int8_t *weights;
  int width;
  int weights_zero;
  struct mafat_integer_finish to;
};

/* One row of output for a run of up to 16 channels: the largest of each window, or the mean of its taps inside the map,
 * within the output's bounds; numbers have one scale in and out. By ONNX's rule means are of floats, which what is read means,
 * summed row by row, divided by their number and then by the output's scale: a half is rounded as theirs are. */
struct mafat_integer_pool_call {
  const uint8_t *const *rows; /* [n_rows]: input rows inside the map, at column 0 of `in` */
  int n_rows;                 /* 1 ... size: the window's rows that lie inside the map */
  struct mafat_taps taps;     /* of columns; its padding is in first_col */
  int first_col;              /* input column of the first tap of output 0, may be negative */
  int in_begin, in_end;       /* columns that exist: relative to the row pointers */
  uint8_t *out;
  int n_cols;
  int n_channels, in_pixel_bytes, out_pixel_bytes;
  struct mafat_quantization to;
  int in_zero;                /* ONNX's means: of the input */
  float in_scale;
  bool from_signed;           /* TFLite's means of a file's signed numbers: halves are rounded away from their zero, which is byte 128 */
};

/* y of x and z, pixel by pixel. A z whose pixels are 0 apart is one pixel for all columns. */
struct mafat_integer_blend_call {
  enum mafat_blend blend; /* MAFAT_BLEND_ADD, _MUL, _PRELU: x where it is not negative, else x * z */
  bool subtract;          /* x - z */
  const uint8_t *x, *z;
  uint8_t *y;
  int n_cols, n_channels;
  int x_pixel_bytes, z_pixel_bytes, y_pixel_bytes;
  bool z_single;          /* a pixel of z is one byte, for all channels */
  int x_zero, z_zero;
  struct mafat_multiplier x_scale, z_scale; /* of sums, 2^20 times x and z: shifts at most 0. PRELU: of what is not negative */
  struct mafat_multiplier scale;            /* of the sum or product */
  float x_factor, z_factor, factor;         /* ONNX's rule: of x and z to the output, which are added; of the product. PRELU:
                                               x_factor of what is not negative */
  struct mafat_quantization to;
};

enum { MAFAT_SORTED_ROOM = 24 << 10 }; /* numbers, of all panels of a step, on the stack */

struct mafat_integer_kernels {
  const char *name; /* as base/levels.def has it */
  bool sorts;       /* conv uses the call's room for what it finds out */
  void (*conv)(const struct mafat_integer_conv_call *c);
  void (*depthwise)(const struct mafat_integer_depthwise_call *c);
  void (*maxpool)(const struct mafat_integer_pool_call *c);
  void (*avgpool)(const struct mafat_integer_pool_call *c);
  void (*blend)(const struct mafat_integer_blend_call *c);
  /* y = table[x], pixel by pixel (integer_tables.h). */
  void (*table)(const uint8_t *x, int x_pixel_bytes, uint8_t *y, int y_pixel_bytes, int n_cols, int n_channels,
                const uint8_t *table);
  /* sums[channel] += the bytes of n_cols pixels, at most 16 channels: for means over maps, row after row. */
  void (*add_pixels)(const uint8_t *x, int pixel_bytes, int n_cols, int n_channels, int32_t *sums);
  /* Reals as numbers (network/quantization.h). */
  void (*reals)(const struct mafat_quantization *q, const float *from, uint8_t *to, int n);
};

/* The best of this CPU for kernels of floats of that level, or below it. */
const struct mafat_integer_kernels *mafat_integer_kernels_find(const struct mafat_kernels *level);
/* All that this CPU can run; returns how many. */
int mafat_integer_kernels_list(const struct mafat_integer_kernels **list, int room);

#endif
