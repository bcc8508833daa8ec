/* Functions of quantized networks in plain C: tables, softmax, means and resizing. Each has a
 * version by TFLite's rules and one by ONNX's (names with _even), with the same results at every
 * kernel level. A function of one value is a table of 256 entries, computed for each step and
 * applied by a kernel (integer.h: table). Values are unsigned bytes; if the model file has signed
 * values, zero points are 128 more than in the file. Touches nothing but its arguments. Included by
 * runner/engine/kinds/integer. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H

#include "network/layer.h"
#include "network/resample.h"
#include "runner/kernels/integer.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- tables: table[x] for a value x of `in` ---- */

/* Requantizes from `in` to `out`, with out's rounding. `kernels` may be of any level. */
void mafat_integer_table_requantize(const struct mafat_integer_kernels *kernels, uint8_t *table,
                                    const struct mafat_quantization *in,
                                    const struct mafat_quantization *out);
/* The output of logistic has scale 1/256 and zero point 0; that of tanh has 1/128 and 128. */
void mafat_integer_table_logistic(uint8_t *table, const struct mafat_quantization *in);
void mafat_integer_table_tanh(uint8_t *table, const struct mafat_quantization *in);
/* The caller has checked mafat_quantization_can_hard_swish. */
void mafat_integer_table_hard_swish(uint8_t *table, const struct mafat_quantization *in,
                                    const struct mafat_quantization *out);
void mafat_integer_table_leaky(uint8_t *table, const struct mafat_quantization *in,
                               const struct mafat_quantization *out, float slope);

/* Any function, by ONNX's rule: applies it to the dequantized value and rounds once. */
void mafat_integer_table_even(const struct mafat_integer_kernels *kernels, uint8_t *table,
                              const struct mafat_quantization *in,
                              const struct mafat_quantization *out, struct mafat_activating f);

/* ---- softmax ---- */

/* Sets exponentials[d], for d from 0 to 255, to e^(-scale * beta * d) times 2^31: the term of a
 * value that is d below the maximum. -1: the term counts as 0. */
void mafat_integer_exponentials(int32_t *exponentials, float scale, float beta);
/* Softmax of n values; the output has scale 1/256 and zero point 0. in and out may be equal. */
void mafat_integer_softmax(const int32_t *exponentials, const uint8_t *in, uint8_t *out, int n);

/* Softmax by ONNX's rule; the output may have any scale and zero point. */
void mafat_integer_exponentials_even(double *exponentials, float scale);
void mafat_integer_softmax_even(const double *exponentials, const uint8_t *in, uint8_t *out, int n,
                                const struct mafat_quantization *to);

/* ---- means over maps, from sums of bytes (integer.h: add_pixels) ---- */

/* Return the mean of n values with this sum. `zero` or `in` describes the input. `scale` is the
 * input's scale divided by the output's. */
uint8_t mafat_integer_mean(int64_t sum, int n, int zero, struct mafat_multiplier scale,
                           const struct mafat_quantization *out);

uint8_t mafat_integer_mean_even(int64_t sum, int n, const struct mafat_quantization *in,
                                const struct mafat_quantization *out);

/* ---- resizing ---- */

/* Part of an output row: n_cols pixels interpolated between two input rows, up to 16 channels. */
struct mafat_integer_resize_call {
  const uint8_t *above, *below; /* pixels from column `origin` on */
  float weight;                 /* weight of the row below */
  const struct mafat_tap *taps; /* [n_cols] */
  uint8_t *out;
  int origin, n_cols, n_channels, in_pixel_bytes, out_pixel_bytes;
  const struct mafat_quantization *in, *to;
};
/* TFLite's rule for int8: weights are multiples of 1/1024, and ties are rounded away from the value
 * that the file stores as 0. */
void mafat_integer_resize_fixed(const struct mafat_integer_resize_call *c);
/* TFLite's rule for uint8: weights are floats; 1/2 is added to the sum, which is truncated. */
void mafat_integer_resize_single(const struct mafat_integer_resize_call *c);
/* By ONNX's rule. */
void mafat_integer_resize_even(const struct mafat_integer_resize_call *c);

#endif
