/* Functions of integer networks computed element by element, in plain C by TFLite's and ONNX's
 * rules, equal on every level. A function of one byte is a table of 256 entries, made for each step
 * and applied by a kernel (runner/kernels/integer.h: table). Values are unsigned bytes; for signed
 * files, a zero point is 128 more than the file's. Pure. Included by runner/engine/kinds/integer.
 */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H

#include "network/layer.h"
#include "network/resample.h"
#include "runner/kernels/integer.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- tables: table[x] for a value x of `in` ---- */

/* From one scale to another with out's rounding. `kernels` may be any level: all agree. */
void mafat_integer_table_requantize(const struct mafat_integer_kernels *kernels, uint8_t *table,
                                    const struct mafat_quantization *in,
                                    const struct mafat_quantization *out);
/* Logistic has output scale 1/256 and zero point 0; tanh has 1/128 and 128. */
void mafat_integer_table_logistic(uint8_t *table, const struct mafat_quantization *in);
void mafat_integer_table_tanh(uint8_t *table, const struct mafat_quantization *in);
/* Requires mafat_quantization_can_hard_swish. */
void mafat_integer_table_hard_swish(uint8_t *table, const struct mafat_quantization *in,
                                    const struct mafat_quantization *out);
void mafat_integer_table_leaky(uint8_t *table, const struct mafat_quantization *in,
                               const struct mafat_quantization *out, float slope);

/* Any function by ONNX's rule: applied to the dequantized value, rounded once. */
void mafat_integer_table_even(const struct mafat_integer_kernels *kernels, uint8_t *table,
                              const struct mafat_quantization *in,
                              const struct mafat_quantization *out, struct mafat_activating f);

/* ---- softmax ---- */

/* Computes e^(-scale * beta * d) for each difference d from the maximum; negative if it counts as
 * 0. */
void mafat_integer_exponentials(int32_t *exponentials, float scale, float beta);
/* Softmax of n values to scale 1/256 and zero point 0. in and out may be equal. */
void mafat_integer_softmax(const int32_t *exponentials, const uint8_t *in, uint8_t *out, int n);

/* The same by ONNX's rule, to any scale and zero point. */
void mafat_integer_exponentials_even(double *exponentials, float scale);
void mafat_integer_softmax_even(const double *exponentials, const uint8_t *in, uint8_t *out, int n,
                                const struct mafat_quantization *to);

/* ---- means over maps, from sums of bytes (integer.h: add_pixels) ---- */

/* Mean of n values; `scale` converts from input to output. */
uint8_t mafat_integer_mean(int64_t sum, int n, int zero, struct mafat_multiplier scale,
                           const struct mafat_quantization *out);

uint8_t mafat_integer_mean_even(int64_t sum, int n, const struct mafat_quantization *in,
                                const struct mafat_quantization *out);

/* ---- resizing ---- */

/* An output row of n_cols pixels between two input rows, up to 16 channels. */
struct mafat_integer_resize_call {
  const uint8_t *above, *below; /* pixels from column `origin` on */
  float weight;                 /* weight of the row below */
  const struct mafat_tap *taps; /* [n_cols] */
  uint8_t *out;
  int origin, n_cols, n_channels, in_pixel_bytes, out_pixel_bytes;
  const struct mafat_quantization *in, *to;
};
/* Weights in 1/1024; ties are rounded away from the file's zero. */
void mafat_integer_resize_fixed(const struct mafat_integer_resize_call *c);
/* Float weights plus 1/2, as in TFLite for uint8. */
void mafat_integer_resize_single(const struct mafat_integer_resize_call *c);
/* By ONNX's rule. */
void mafat_integer_resize_even(const struct mafat_integer_resize_call *c);

#endif
