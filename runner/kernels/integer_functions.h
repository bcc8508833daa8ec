/* What networks of integers compute number by number: TFLite's rule and ONNX's in plain C, the same at every level. A function of one
 * byte is a table of 256, made when a model is opened and applied by a kernel (integer.h: table). Numbers are unsigned bytes;
 * where a file's are signed, a zero point is 128 more than the file's. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H

#include "network/layer.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- tables: table[x] of a number x of `in` ---- */

/* From one scale to another, by out's rounding. */
void mafat_integer_table_requantize(uint8_t *table, const struct mafat_quantization *in, const struct mafat_quantization *out);
/* Outputs of scale 1/256 and zero 0; of scale 1/128 and zero 128. */
void mafat_integer_table_logistic(uint8_t *table, const struct mafat_quantization *in);
void mafat_integer_table_tanh(uint8_t *table, const struct mafat_quantization *in);
/* Where mafat_quantization_can_hard_swish. */
void mafat_integer_table_hard_swish(uint8_t *table, const struct mafat_quantization *in, const struct mafat_quantization *out);
void mafat_integer_table_leaky(uint8_t *table, const struct mafat_quantization *in, const struct mafat_quantization *out,
                               float slope);

/* Any function by ONNX's rule: of what a number means, rounded once. */
void mafat_integer_table_even(uint8_t *table, const struct mafat_quantization *in, const struct mafat_quantization *out,
                              struct mafat_activating f);

/* ---- softmax ---- */

/* e^(-scale * beta * d) for each difference d from the largest; negative where it counts as nothing. */
void mafat_integer_exponentials(int32_t *exponentials, float scale, float beta);
/* Of n numbers to numbers of scale 1/256 and zero 0. in and out may be one. */
void mafat_integer_softmax(const int32_t *exponentials, const uint8_t *in, uint8_t *out, int n);

/* The same by ONNX's rule, to numbers of any scale and zero. */
void mafat_integer_exponentials_even(double *exponentials, float scale);
void mafat_integer_softmax_even(const double *exponentials, const uint8_t *in, uint8_t *out, int n, const struct mafat_quantization *to);

/* ---- means over maps, of sums of bytes (integer.h: add_pixels) ---- */

/* Of n numbers: `scale` is of the mean, input to output. */
uint8_t mafat_integer_mean(int64_t sum, int n, int zero, struct mafat_multiplier scale, const struct mafat_quantization *out);

uint8_t mafat_integer_mean_even(int64_t sum, int n, const struct mafat_quantization *in, const struct mafat_quantization *out);

/* ---- resizing, of numbers that keep their scale ---- */

enum mafat_integer_grid { MAFAT_GRID_ASYMMETRIC, MAFAT_GRID_CORNERS, MAFAT_GRID_CENTRES };

/* What output `at` of `out` reads of `in` inputs: two of them, the second's weight in 1/1024. */
struct mafat_integer_tap {
  int first, second, weight;
};
struct mafat_integer_tap mafat_integer_tap(enum mafat_integer_grid grid, int in, int out, int at);

/* A row of n_cols pixels of two input rows, up to 16 channels. from_signed as in integer.h. */
struct mafat_integer_resize_call {
  const uint8_t *first, *second;
  int row_weight;                        /* of the second */
  const struct mafat_integer_tap *taps;  /* [n_cols]: columns from the row pointers on */
  uint8_t *out;
  int n_cols, n_channels, in_pixel_bytes, out_pixel_bytes;
  bool from_signed;
};
void mafat_integer_resize(const struct mafat_integer_resize_call *c);

#endif
