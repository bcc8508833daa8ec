/* What networks of integers compute number by number: TFLite's rule and ONNX's in plain C, the same at every level. A function of one
 * byte is a table of 256, made for each step and applied by a kernel (integer.h: table). Numbers are unsigned bytes;
 * where a file's are signed, a zero point is 128 more than the file's. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_INTEGER_FUNCTIONS_H

#include "network/layer.h"
#include "network/resample.h"
#include "runner/kernels/integer.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- tables: table[x] of a number x of `in` ---- */

/* From one scale to another, by out's rounding. Kernels: of whichever level, for all are the same. */
void mafat_integer_table_requantize(const struct mafat_integer_kernels *kernels, uint8_t *table, const struct mafat_quantization *in,
                                    const struct mafat_quantization *out);
/* Outputs of scale 1/256 and zero 0; of scale 1/128 and zero 128. */
void mafat_integer_table_logistic(uint8_t *table, const struct mafat_quantization *in);
void mafat_integer_table_tanh(uint8_t *table, const struct mafat_quantization *in);
/* Where mafat_quantization_can_hard_swish. */
void mafat_integer_table_hard_swish(uint8_t *table, const struct mafat_quantization *in, const struct mafat_quantization *out);
void mafat_integer_table_leaky(uint8_t *table, const struct mafat_quantization *in, const struct mafat_quantization *out,
                               float slope);

/* Any function by ONNX's rule: of what a number means, rounded once. */
void mafat_integer_table_even(const struct mafat_integer_kernels *kernels, uint8_t *table, const struct mafat_quantization *in,
                              const struct mafat_quantization *out, struct mafat_activating f);

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

/* ---- resizing ---- */

/* A row of n_cols pixels between two rows of the input, up to 16 channels. */
struct mafat_integer_resize_call {
  const uint8_t *above, *below; /* pixels from column `origin` on */
  float weight;                 /* of the one below */
  const struct mafat_tap *taps; /* [n_cols] */
  uint8_t *out;
  int origin, n_cols, n_channels, in_pixel_bytes, out_pixel_bytes;
  const struct mafat_quantization *in, *to;
};
/* Of weights in 1/1024, rounded halves away from the 0 that the file's numbers have. */
void mafat_integer_resize_fixed(const struct mafat_integer_resize_call *c);
/* Of weights that are floats, with a half added, as TFLite has it of uint8. */
void mafat_integer_resize_single(const struct mafat_integer_resize_call *c);
/* By ONNX's rule. */
void mafat_integer_resize_even(const struct mafat_integer_resize_call *c);

#endif
