/* Arithmetic of 8-bit integer networks, as in TFLite's reference kernels. Written in plain C
 * from the rule, not from our kernels; kernel_check compares them bit for bit.
 * experiments/integer_rule compares this rule with tflite-micro's reference kernels. Included by
 * tests/unit, tests/support/integer_graph, tests/kernel_check and experiments.
 *
 * A value q means scale * (q - zero). Values are as in files: -128..127 or 0..255. One rule
 * serves both, except for averages and resizing, which round by the sign of q. Sums are exact in
 * 32 bits. This code saturates where the reference would overflow, which the reference's
 * contract excludes. */
#ifndef MAFAT_TESTS_KERNELS_INTEGER_RULE_H
#define MAFAT_TESTS_KERNELS_INTEGER_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- requantisation ---- */

/* A real factor, multiplier * 2^(shift - 31). The multiplier is 0 or in 2^30 ... 2^31 - 1. */
struct mafat_rule_scale {
  int32_t multiplier;
  int shift; /* -31 ... 30 */
};

/* An output's zero point, and its smallest and largest value: the limits of its type or of its
 * fused activation. */
struct mafat_rule_output {
  int zero, least, most;
};

/* 2 * a * b / 2^32, rounded to the nearest, halves up; INT32_MIN * INT32_MIN saturates. */
int32_t mafat_rule_double_high(int32_t a, int32_t b);
int16_t mafat_rule_double_high_16(int16_t a, int16_t b);
/* x / 2^exponent, rounded to the nearest, halves away from zero; exponent 0..31. */
int32_t mafat_rule_divide(int32_t x, int exponent);
/* x times the factor, rounded twice: shifted left, double_high, then divided. */
int32_t mafat_rule_rescale(int32_t x, struct mafat_rule_scale scale);
/* A real number as a factor: its fraction rounded to 31 bits, halves away from zero; 0 below
 * 2^-32. */
struct mafat_rule_scale mafat_rule_scale_of(double real);
/* clamp(zero + rescaled x) */
int mafat_rule_finish(int32_t x, struct mafat_rule_scale scale, struct mafat_rule_output out);

/* ONNX's rule: clamp(zero + x times the float factor, rounded to the nearest, halves to even).
 * Negative x use the factor `below`, unless it is 0. */
int mafat_rule_finish_even(int32_t x, float factor, float below, struct mafat_rule_output out);
/* Operators by ONNX's rule, for values without zero points. mean: sum / n / scale.
 * add: x * x_factor + z * z_factor. multiply: x * z * factor. prelu: x * x_factor for x >= 0, else
 * x * z * factor. */
int mafat_rule_mean_even(float sum, int n, float scale, struct mafat_rule_output out);
int mafat_rule_add_even(int x, float x_factor, int z, float z_factor, struct mafat_rule_output out);
int mafat_rule_multiply_even(int x, int z, float factor, struct mafat_rule_output out);
int mafat_rule_prelu_even(int x, float x_factor, int z, float factor, struct mafat_rule_output out);

/* ---- maps: stored row by row; a row has pixels, a pixel has channels ---- */

struct mafat_rule_map {
  const int16_t *at;
  int h, w, c, zero;
};

struct mafat_rule_window {
  /* pads: before the map */
  int size_y, size_x, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
};

/* A convolution's sum of (x - zero) * (w - zero) over the taps inside the map, plus the bias.
 * Weights are [filter][ky][kx][channel of its group]; weights_zero is 0 if there is none. A
 * dense layer is a convolution of one pixel. */
struct mafat_rule_conv {
  struct mafat_rule_map in;
  struct mafat_rule_window window;
  const int16_t *weights;
  const int32_t *bias; /* may be NULL */
  int weights_zero, n_filters, groups;
};
int32_t mafat_rule_conv(const struct mafat_rule_conv *c, int y, int x, int filter);

/* Depthwise convolution: `multiplier` filters for each channel, stored together; weights are
 * [ky][kx][filter]. */
struct mafat_rule_depthwise {
  struct mafat_rule_map in;
  struct mafat_rule_window window;
  const int16_t *weights;
  const int32_t *bias;
  int weights_zero, multiplier;
};
int32_t mafat_rule_depthwise(const struct mafat_rule_depthwise *c, int y, int x, int filter);

/* Pools over the taps inside the map. Averages are rounded to the nearest, halves away from
 * zero. */
int mafat_rule_maxpool(const struct mafat_rule_map *in, const struct mafat_rule_window *w, int y,
                       int x, int channel, struct mafat_rule_output out);
int mafat_rule_avgpool(const struct mafat_rule_map *in, const struct mafat_rule_window *w, int y,
                       int x, int channel, struct mafat_rule_output out);
int mafat_rule_average(int32_t sum, int n);

/* The mean of n values with this sum. The factor is divided by n, its multiplier rounded down. */
int mafat_rule_mean(int64_t sum, int n, int zero, struct mafat_rule_scale scale,
                    struct mafat_rule_output out);

/* ---- two maps ---- */

/* Adds or subtracts. The unit of sums is twice the larger input scale, divided by 2^20. x and z are
 * the input scales, divided by twice the larger one; `result` is the factor from the unit to the
 * output. */
struct mafat_rule_add {
  int x_zero, z_zero;
  struct mafat_rule_scale x, z, result; /* shifts up to 0 */
  bool subtract;
  struct mafat_rule_output out;
};
struct mafat_rule_add mafat_rule_add_of(float x_scale, float z_scale, float out_scale);
int mafat_rule_add(const struct mafat_rule_add *a, int x, int z);

int mafat_rule_multiply(int x, int x_zero, int z, int z_zero, struct mafat_rule_scale scale,
                        struct mafat_rule_output out);

/* ---- element by element ---- */

/* Converts q from one scale and zero point to another. */
int mafat_rule_requantise(int q, int zero, struct mafat_rule_scale scale,
                          struct mafat_rule_output out);
/* Converts q for a concatenation in uint8 models: in floats, rounded to the nearest, halves away
 * from zero. */
int mafat_rule_join(int q, int zero, float scale, int out_zero, float out_scale);
int mafat_rule_quantise(float x, float scale, struct mafat_rule_output out);
float mafat_rule_dequantise(int q, float scale, int zero);

/* int8 logistic (output zero point -128, scale 1/256) and tanh (0, 1/128). `scale` is the
 * input's. */
int mafat_rule_logistic(int q, int zero, float scale);
int mafat_rule_tanh(int q, int zero, float scale);

struct mafat_rule_hard_swish {
  int zero;
  int16_t output_multiplier, relu_multiplier;
  int output_shift, relu_shift; /* output_shift is at most 0 */
  struct mafat_rule_output out;
};
struct mafat_rule_hard_swish mafat_rule_hard_swish_of(float scale, float out_scale);
int mafat_rule_hard_swish(const struct mafat_rule_hard_swish *h, int q);

/* Multiplies negative inputs by the slope's factor, others by `positive`. */
int mafat_rule_leaky(int q, int zero, struct mafat_rule_scale positive,
                     struct mafat_rule_scale negative, struct mafat_rule_output out);
int mafat_rule_prelu(int q, int zero, int slope, int slope_zero, struct mafat_rule_scale positive,
                     struct mafat_rule_scale negative, struct mafat_rule_output out);

/* Softmax of n values to int8 with zero point -128 and scale 1/256. The reference refuses sums
 * of 512 times the largest term or more; here these outputs follow the formula and are 0. */
void mafat_rule_softmax(const int16_t *q, int16_t *out, int n, float scale, float beta);

/* ---- resizing ---- */

/* How output pixels map to input pixels: corners aligned, centres aligned, or neither. */
enum mafat_rule_grid { MAFAT_RULE_ASYMMETRIC, MAFAT_RULE_CORNERS, MAFAT_RULE_CENTRES };

/* Positions and weights are in 1/1024; rounded to the nearest, halves away from zero. */
int mafat_rule_bilinear(const struct mafat_rule_map *in, enum mafat_rule_grid grid, int out_h,
                        int out_w, int y, int x, int channel);
/* Bilinear resizing for uint8: in floats, rounded by adding a half. */
int mafat_rule_bilinear_single(const struct mafat_rule_map *in, enum mafat_rule_grid grid,
                               int out_h, int out_w, int y, int x, int channel);
/* ONNX's rule: interpolates four values around a point: upper left, lower left, upper right,
 * lower right. `down` and `across`: weights of the lower and right ones. */
int mafat_rule_between_even(const int *numbers, int zero, float down, float across, float factor,
                            struct mafat_rule_output out);
/* The input row or column of an output row or column. */
int mafat_rule_nearest(enum mafat_rule_grid grid, int in, int out, int at);

#endif
