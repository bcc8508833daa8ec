/* The arithmetic of networks of 8-bit integers, as TFLite's reference kernels have it: written down
 * once in plain C, from the rule and not from the kernels, which are compared with it bit for bit
 * (kernel_check). experiments/integer_rule compares it with tflite-micro's reference kernels.
 *
 * A number q stands for scale * (q - zero). Numbers here are as a file has them: -128 ... 127 or 0
 * ... 255; both go by one rule but for two that round by the sign of q itself, averages and
 * resizing. Sums are exact in 32 bits. Where the reference would overflow, this saturates: its own
 * contract excludes that. */
#ifndef MAFAT_TESTS_KERNELS_INTEGER_RULE_H
#define MAFAT_TESTS_KERNELS_INTEGER_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- requantisation ---- */

/* A real factor: multiplier * 2^(shift - 31), with multiplier 0 or 2^30 ... 2^31 - 1. */
struct mafat_rule_scale {
  int32_t multiplier;
  int shift; /* -31 ... 30 */
};

/* Outputs: their zero point, the least and the most that they may be (their type's ends, or a fused
 * activation's). */
struct mafat_rule_output {
  int zero, least, most;
};

/* 2 * a * b / 2^32 rounded to the nearest, halves up; INT32_MIN * INT32_MIN saturates. */
int32_t mafat_rule_double_high(int32_t a, int32_t b);
int16_t mafat_rule_double_high_16(int16_t a, int16_t b);
/* x / 2^exponent rounded to the nearest, halves away from zero; 0 ... 31. */
int32_t mafat_rule_divide(int32_t x, int exponent);
/* x times the factor, rounded twice: shifted left, double_high, divided. */
int32_t mafat_rule_rescale(int32_t x, struct mafat_rule_scale scale);
/* The factor of a real number: its fraction rounded to 31 bits, halves away from zero; 0 below
 * 2^-32. */
struct mafat_rule_scale mafat_rule_scale_of(double real);
/* clamp(zero + rescaled x) */
int mafat_rule_finish(int32_t x, struct mafat_rule_scale scale, struct mafat_rule_output out);

/* ONNX's: clamp(zero + the nearest integer to x times the factor, both floats, halves to the even
 * one). Negative x have a factor of their own, unless it is 0. */
int mafat_rule_finish_even(int32_t x, float factor, float below, struct mafat_rule_output out);
/* By that rule, of numbers without their zero points: a mean of n numbers of such a sum of floats,
 * sum / n / scale; x * x_factor + z * z_factor; x * z * factor; x * x_factor where x is not
 * negative, else x * z * factor. */
int mafat_rule_mean_even(float sum, int n, float scale, struct mafat_rule_output out);
int mafat_rule_add_even(int x, float x_factor, int z, float z_factor, struct mafat_rule_output out);
int mafat_rule_multiply_even(int x, int z, float factor, struct mafat_rule_output out);
int mafat_rule_prelu_even(int x, float x_factor, int z, float factor, struct mafat_rule_output out);

/* ---- maps: rows of columns of channels ---- */

struct mafat_rule_map {
  const int16_t *at;
  int h, w, c, zero;
};

struct mafat_rule_window {
  int size_y, size_x, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x; /* pads: before */
};

/* A convolution's sum: of (x - zero) * (w - zero) over the taps inside the map, and the bias.
 * Weights are [filter][ky][kx] [channel of its group]; where filters have no zero point of their
 * own, theirs is 0. A dense layer is one pixel's. */
struct mafat_rule_conv {
  struct mafat_rule_map in;
  struct mafat_rule_window window;
  const int16_t *weights;
  const int32_t *bias; /* may be NULL */
  int weights_zero, n_filters, groups;
};
int32_t mafat_rule_conv(const struct mafat_rule_conv *c, int y, int x, int filter);

/* Depthwise convolution: `multiplier` filters for each channel, filter by filter; weights are
 * [ky][kx][filter]. */
struct mafat_rule_depthwise {
  struct mafat_rule_map in;
  struct mafat_rule_window window;
  const int16_t *weights;
  const int32_t *bias;
  int weights_zero, multiplier;
};
int32_t mafat_rule_depthwise(const struct mafat_rule_depthwise *c, int y, int x, int filter);

/* Pools over the taps inside the map. The average is rounded to the nearest, halves away from
 * zero. */
int mafat_rule_maxpool(const struct mafat_rule_map *in, const struct mafat_rule_window *w, int y,
                       int x, int channel, struct mafat_rule_output out);
int mafat_rule_avgpool(const struct mafat_rule_map *in, const struct mafat_rule_window *w, int y,
                       int x, int channel, struct mafat_rule_output out);
int mafat_rule_average(int32_t sum, int n);

/* The mean of n numbers with that sum: n is divided out of the factor, its multiplier rounded down.
 */
int mafat_rule_mean(int64_t sum, int n, int zero, struct mafat_rule_scale scale,
                    struct mafat_rule_output out);

/* ---- two maps ---- */

/* Sums are formed 2^20 times as fine as twice the coarser input: scales are of the inputs in that
 * and of the result. */
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

/* ---- one number at a time ---- */

/* From one scale and zero point to others. */
int mafat_rule_requantise(int q, int zero, struct mafat_rule_scale scale,
                          struct mafat_rule_output out);
/* The same in a join of uint8 files: in floats, rounded to the nearest, halves away from zero. */
int mafat_rule_join(int q, int zero, float scale, int out_zero, float out_scale);
int mafat_rule_quantise(float x, float scale, struct mafat_rule_output out);
float mafat_rule_dequantise(int q, float scale, int zero);

/* int8's: outputs of zero -128 and scale 1/256, of zero 0 and 1/128. `scale` is the input's. */
int mafat_rule_logistic(int q, int zero, float scale);
int mafat_rule_tanh(int q, int zero, float scale);

struct mafat_rule_hard_swish {
  int zero;
  int16_t output_multiplier, relu_multiplier;
  int output_shift, relu_shift; /* the first at most 0 */
  struct mafat_rule_output out;
};
struct mafat_rule_hard_swish mafat_rule_hard_swish_of(float scale, float out_scale);
int mafat_rule_hard_swish(const struct mafat_rule_hard_swish *h, int q);

/* Below zero by the slope's factor, else by the other. */
int mafat_rule_leaky(int q, int zero, struct mafat_rule_scale positive,
                     struct mafat_rule_scale negative, struct mafat_rule_output out);
int mafat_rule_prelu(int q, int zero, int slope, int slope_zero, struct mafat_rule_scale positive,
                     struct mafat_rule_scale negative, struct mafat_rule_output out);

/* Softmax of n numbers to numbers of int8, zero -128, scale 1/256. The reference refuses sums of
 * 512 times the largest and more; here such outputs are what the formula says, 0. */
void mafat_rule_softmax(const int16_t *q, int16_t *out, int n, float scale, float beta);

/* ---- resizing ---- */

/* How outputs lie on inputs: at their corners, at pixels' centres, or neither. */
enum mafat_rule_grid { MAFAT_RULE_ASYMMETRIC, MAFAT_RULE_CORNERS, MAFAT_RULE_CENTRES };

/* Places and weights in 1/1024; rounded to the nearest, halves away from zero. */
int mafat_rule_bilinear(const struct mafat_rule_map *in, enum mafat_rule_grid grid, int out_h,
                        int out_w, int y, int x, int channel);
/* The same in floats, with a half added: of uint8. */
int mafat_rule_bilinear_single(const struct mafat_rule_map *in, enum mafat_rule_grid grid,
                               int out_h, int out_w, int y, int x, int channel);
/* ONNX's: of four numbers around a point, above and below it on the left, then on the right; how
 * near it is to lower and right ones. */
int mafat_rule_between_even(const int *numbers, int zero, float down, float across, float factor,
                            struct mafat_rule_output out);
/* The input row or column of one of the output's. */
int mafat_rule_nearest(enum mafat_rule_grid grid, int in, int out, int at);

#endif
