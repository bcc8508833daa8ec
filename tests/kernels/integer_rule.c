/* Computes the arithmetic of 8-bit integer networks, operator by operator, in plain C. Called by
 * tests/unit, tests/support/integer_graph.c, tests/kernel_check and experiments/integer_rule.
 * Touches only its arguments. */
#include "tests/kernels/integer_rule.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static int clamp(int64_t q, struct mafat_rule_output out)
{
  return q > out.most ? out.most : q < out.least ? out.least : (int)q;
}

static int32_t saturate(int64_t x)
{
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

/* n / d for d > 0, rounded to minus infinity. */
static int64_t floor_divide(int64_t n, int64_t d)
{
  return n >= 0 ? n / d : -((-n + d - 1) / d);
}

/* ---- requantisation ---- */

int32_t mafat_rule_double_high(int32_t a, int32_t b)
{
  return saturate(floor_divide((int64_t)a * b + (1 << 30), INT64_C(1) << 31));
}

int16_t mafat_rule_double_high_16(int16_t a, int16_t b)
{
  int64_t x = floor_divide(a * b + (1 << 14), 1 << 15);
  return x > INT16_MAX ? INT16_MAX : (int16_t)x;
}

int32_t mafat_rule_divide(int32_t x, int exponent)
{
  int64_t half = (INT64_C(1) << exponent) / 2, magnitude = x < 0 ? -(int64_t)x : x;
  int64_t y = (magnitude + half) >> exponent;
  return (int32_t)(x < 0 ? -y : y);
}

int32_t mafat_rule_rescale(int32_t x, struct mafat_rule_scale scale)
{
  int left = scale.shift > 0 ? scale.shift : 0, right = scale.shift > 0 ? 0 : -scale.shift;
  return mafat_rule_divide(
      mafat_rule_double_high(saturate((int64_t)x * (INT64_C(1) << left)), scale.multiplier), right);
}

struct mafat_rule_scale mafat_rule_scale_of(double real)
{
  int shift;
  int64_t multiplier = (int64_t)round(frexp(real, &shift) * 2147483648.0);
  if (multiplier == INT64_C(1) << 31) {
    multiplier /= 2;
    shift++;
  }
  if (real == 0 || shift < -31) return (struct mafat_rule_scale){0, 0};
  return (struct mafat_rule_scale){(int32_t)multiplier, shift};
}

int mafat_rule_finish(int32_t x, struct mafat_rule_scale scale, struct mafat_rule_output out)
{
  return clamp((int64_t)mafat_rule_rescale(x, scale) + out.zero, out);
}

/* Rounds to the nearest integer, halves to even. |x| must be far below 2^52. */
static int64_t nearest_even(float x)
{
  double below = floor((double)x), rest = (double)x - below;
  bool up = rest > .5 || (rest == .5 && fmod(below, 2) != 0);
  return (int64_t)below + up;
}

static int clamp_even(float y, struct mafat_rule_output out)
{
  const float beyond = 1 << 16; /* above any output's magnitude */
  return y > beyond ? out.most : y < -beyond ? out.least : clamp(nearest_even(y) + out.zero, out);
}

int mafat_rule_finish_even(int32_t x, float factor, float below, struct mafat_rule_output out)
{
  float y = (float)x;
  return clamp_even(y * (x < 0 && below != 0 ? below : factor), out);
}

int mafat_rule_mean_even(float sum, int n, float scale, struct mafat_rule_output out)
{
  float mean = sum / (float)n;
  return clamp_even(mean / scale, out);
}

int mafat_rule_add_even(int x, float x_factor, int z, float z_factor, struct mafat_rule_output out)
{
  float a = (float)x * x_factor, b = (float)z * z_factor;
  return clamp_even(a + b, out);
}

int mafat_rule_multiply_even(int x, int z, float factor, struct mafat_rule_output out)
{
  return mafat_rule_finish_even(x * z, factor, 0, out);
}

int mafat_rule_prelu_even(int x, float x_factor, int z, float factor, struct mafat_rule_output out)
{
  return x < 0 ? mafat_rule_multiply_even(x, z, factor, out)
               : mafat_rule_finish_even(x, x_factor, 0, out);
}

/* ---- maps ---- */

static const int16_t *pixel(const struct mafat_rule_map *m, int y, int x)
{
  if (y < 0 || y >= m->h || x < 0 || x >= m->w) return NULL;
  return m->at + ((size_t)y * (size_t)m->w + (size_t)x) * (size_t)m->c;
}

/* The input pixel of a tap of output (y, x); NULL outside the map. */
static const int16_t *tap_pixel(const struct mafat_rule_map *m, const struct mafat_rule_window *w,
                                int y, int x, int tap)
{
  int ky = tap / w->size_x, kx = tap % w->size_x;
  return pixel(m, y * w->stride_y + ky * w->dilation_y - w->pad_y,
               x * w->stride_x + kx * w->dilation_x - w->pad_x);
}

int32_t mafat_rule_conv(const struct mafat_rule_conv *c, int y, int x, int filter)
{
  const int n_taps = c->window.size_y * c->window.size_x, channels = c->in.c / c->groups;
  const int first = filter / (c->n_filters / c->groups) * channels;
  const int16_t *w = c->weights + (size_t)filter * (size_t)(n_taps * channels);
  int64_t sum = c->bias ? c->bias[filter] : 0;
  for (int tap = 0; tap < n_taps; tap++, w += channels) {
    const int16_t *in = tap_pixel(&c->in, &c->window, y, x, tap);
    for (int ch = 0; in && ch < channels; ch++)
      sum += (in[first + ch] - c->in.zero) * (w[ch] - c->weights_zero);
  }
  return saturate(sum);
}

int32_t mafat_rule_depthwise(const struct mafat_rule_depthwise *c, int y, int x, int filter)
{
  const int n_taps = c->window.size_y * c->window.size_x, n_filters = c->in.c * c->multiplier;
  int64_t sum = c->bias ? c->bias[filter] : 0;
  for (int tap = 0; tap < n_taps; tap++) {
    const int16_t *in = tap_pixel(&c->in, &c->window, y, x, tap);
    if (in)
      sum += (in[filter / c->multiplier] - c->in.zero) *
             (c->weights[tap * n_filters + filter] - c->weights_zero);
  }
  return saturate(sum);
}

int mafat_rule_maxpool(const struct mafat_rule_map *in, const struct mafat_rule_window *w, int y,
                       int x, int channel, struct mafat_rule_output out)
{
  int most = INT16_MIN;
  for (int tap = 0; tap < w->size_y * w->size_x; tap++) {
    const int16_t *at = tap_pixel(in, w, y, x, tap);
    if (at && at[channel] > most) most = at[channel];
  }
  return clamp(most, out);
}

int mafat_rule_average(int32_t sum, int n)
{
  return sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
}

int mafat_rule_avgpool(const struct mafat_rule_map *in, const struct mafat_rule_window *w, int y,
                       int x, int channel, struct mafat_rule_output out)
{
  int32_t sum = 0, n = 0;
  for (int tap = 0; tap < w->size_y * w->size_x; tap++) {
    const int16_t *at = tap_pixel(in, w, y, x, tap);
    if (!at) continue;
    sum += at[channel];
    n++;
  }
  return clamp(mafat_rule_average(sum, n), out);
}

int mafat_rule_mean(int64_t sum, int n, int zero, struct mafat_rule_scale scale,
                    struct mafat_rule_output out)
{
  int shift = 0;
  while (n >> shift > 1) shift++;
  if (shift > 31 + scale.shift) shift = 31 + scale.shift;
  struct mafat_rule_scale by_n = {(int32_t)(((int64_t)scale.multiplier << shift) / n),
                                  scale.shift - shift};
  return mafat_rule_finish(saturate(sum - (int64_t)zero * n), by_n, out);
}

/* ---- two maps ---- */

enum { ADD_LEFT = 20 };

struct mafat_rule_add mafat_rule_add_of(float x_scale, float z_scale, float out_scale)
{
  double twice = 2 * (double)(x_scale > z_scale ? x_scale : z_scale);
  return (struct mafat_rule_add){
      .x = mafat_rule_scale_of((double)x_scale / twice),
      .z = mafat_rule_scale_of((double)z_scale / twice),
      .result = mafat_rule_scale_of(twice / ((1 << ADD_LEFT) * (double)out_scale))};
}

int mafat_rule_add(const struct mafat_rule_add *a, int x, int z)
{
  int32_t first = mafat_rule_rescale((x - a->x_zero) * (1 << ADD_LEFT), a->x);
  int32_t second = mafat_rule_rescale((z - a->z_zero) * (1 << ADD_LEFT), a->z);
  return mafat_rule_finish(a->subtract ? first - second : first + second, a->result, a->out);
}

int mafat_rule_multiply(int x, int x_zero, int z, int z_zero, struct mafat_rule_scale scale,
                        struct mafat_rule_output out)
{
  return mafat_rule_finish((x - x_zero) * (z - z_zero), scale, out);
}

/* ---- element by element ---- */

int mafat_rule_requantise(int q, int zero, struct mafat_rule_scale scale,
                          struct mafat_rule_output out)
{
  return mafat_rule_finish(q - zero, scale, out);
}

int mafat_rule_join(int q, int zero, float scale, int out_zero, float out_scale)
{
  if (zero == out_zero && scale == out_scale) return q;
  float inverse = 1.0f / out_scale, factor = scale * inverse, bias = (float)-zero * factor,
        x = (float)q * factor;
  return clamp((int64_t)roundf(x + bias) + out_zero, (struct mafat_rule_output){0, 0, 255});
}

int mafat_rule_quantise(float x, float scale, struct mafat_rule_output out)
{
  const float y = x / scale, beyond = 1 << 16; /* more than any output */
  if (!(y > -beyond)) return out.least;
  return y > beyond ? out.most : clamp((int64_t)roundf(y) + out.zero, out);
}

float mafat_rule_dequantise(int q, float scale, int zero)
{
  return scale * (float)(q - zero);
}

/* ---- fixed point: Qn has n integer and 31 - n fraction bits; Qa times Qb is Q(a + b) ---- */

static int32_t times_power_of_two(int32_t x, int exponent)
{
  return exponent > 0 ? saturate((int64_t)x * (INT64_C(1) << exponent))
                      : mafat_rule_divide(x, -exponent);
}

/* e^a in Q0 for a in Q0, -1/4 <= a < 0: Taylor's polynomial about -1/8, up to the fourth power. */
static int32_t exp_near_zero(int32_t a)
{
  const int32_t at_eighth = 1895147668, third = 715827883; /* e^(-1/8), 1/3 */
  int32_t x = a + (1 << 28), x2 = mafat_rule_double_high(x, x);
  int32_t x3 = mafat_rule_double_high(x2, x), x4 = mafat_rule_double_high(x2, x2);
  int32_t higher =
      mafat_rule_divide(mafat_rule_double_high(mafat_rule_divide(x4, 2) + x3, third) + x2, 1);
  return at_eighth + mafat_rule_double_high(at_eighth, x + higher);
}

/* e^a in Q0 for a <= 0 in Qn: the polynomial gives e to the part of a below a quarter, factors give
 * e to the rest. */
static int32_t exp_negative(int32_t a, int n)
{
  static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                    39332535,   720401,     242}; /* e^-1/4 ... e^-16 */
  const int32_t quarter = 1 << (29 - n);
  if (a == 0) return INT32_MAX;
  int32_t last = (a & (quarter - 1)) - quarter, rest = last - a;
  int32_t y = exp_near_zero(times_power_of_two(last, n));
  for (int i = 0; i < n + 2; i++)
    if (rest & (quarter << i)) y = mafat_rule_double_high(y, factors[i]);
  return y;
}

/* 2 / (1 + a) in Q2 for a in Q0, 0 to 1: three steps of Newton's division, which begins with
 * 48/17 - 32/17 d for the denominator d = (1 + a) / 2. */
static int32_t twice_reciprocal(int32_t a)
{
  const int32_t one = 1 << 29;
  int32_t half_denominator = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
  int32_t x = 1515870810 + mafat_rule_double_high(half_denominator, -1010580540);
  for (int i = 0; i < 3; i++) {
    int32_t rest = one - mafat_rule_double_high(half_denominator, x);
    x += times_power_of_two(mafat_rule_double_high(x, rest), 2);
  }
  return x;
}

enum { FUNCTION_BITS = 4, SOFTMAX_BITS = 5, SUM_BITS = 12 };

/* Limit for inputs, in quantization steps: inputs below it fit in Qn after rescaling. */
static int input_radius(int n, int shift)
{
  return (int)floor(((1 << n) - 1) * ldexp(1, 31 - n - shift));
}

static struct mafat_rule_scale input_scale(float scale)
{
  int shift;
  int32_t multiplier =
      (int32_t)round(frexp((double)scale * (1 << (31 - FUNCTION_BITS)), &shift) * 2147483648.0);
  return (struct mafat_rule_scale){multiplier, shift};
}

static const struct mafat_rule_output int8_output = {-128, -128, 127};

int mafat_rule_logistic(int q, int zero, float scale)
{
  struct mafat_rule_scale in = input_scale(scale);
  int radius = input_radius(FUNCTION_BITS, in.shift), x = q - zero;
  if (x <= -radius) return -128;
  if (x >= radius) return 127;
  int32_t a = mafat_rule_rescale(x, in);
  int32_t y = times_power_of_two(twice_reciprocal(exp_negative(-abs(a), FUNCTION_BITS)), 1);
  if (a == 0) y = 1 << 30;
  else if (a < 0) y = INT32_MAX - y;
  return clamp((int64_t)mafat_rule_divide(y, 23) - 128, int8_output);
}

int mafat_rule_tanh(int q, int zero, float scale)
{
  struct mafat_rule_scale in = input_scale(scale);
  int radius = input_radius(FUNCTION_BITS, in.shift), x = q - zero;
  if (x <= -radius) return -128;
  if (x >= radius) return 127;
  int32_t a = mafat_rule_rescale(x, in);
  if (a == 0) return 0;
  /* exp_negative(.., FUNCTION_BITS + 1) reads the same bits as 2a. */
  int32_t y =
      times_power_of_two(twice_reciprocal(exp_negative(-abs(a), FUNCTION_BITS + 1)) - (1 << 29), 2);
  return clamp(mafat_rule_divide(a < 0 ? -y : y, 24), int8_output);
}

static int16_t upper_half(int32_t multiplier)
{
  return multiplier >= INT32_MAX - (1 << 15) ? INT16_MAX
                                             : (int16_t)((multiplier + (1 << 15)) >> 16);
}

struct mafat_rule_hard_swish mafat_rule_hard_swish_of(float scale, float out_scale)
{
  const float fine = (1.0f / 128.0f) * scale, three = 3.0f / 32768.0f;
  struct mafat_rule_scale output = mafat_rule_scale_of((double)(fine / out_scale));
  struct mafat_rule_scale relu = mafat_rule_scale_of((double)(fine / three));
  return (struct mafat_rule_hard_swish){.output_multiplier = upper_half(output.multiplier),
                                        .output_shift = output.shift,
                                        .relu_multiplier = upper_half(relu.multiplier),
                                        .relu_shift = relu.shift};
}

static int16_t saturate_16(int64_t x)
{
  return x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : (int16_t)x;
}

/* x * relu6(x + 3) / 6 in 16 bits, as x times a slope from 0 to 1. The last product is rounded
 * to zero. */
int mafat_rule_hard_swish(const struct mafat_rule_hard_swish *h, int q)
{
  int16_t x = (int16_t)((q - h->zero) * 128), slope = x;
  int16_t scaled = mafat_rule_double_high_16(x, h->output_multiplier);
  if (h->relu_shift > 0) slope = saturate_16((int64_t)slope * (INT64_C(1) << (h->relu_shift - 1)));
  slope = mafat_rule_double_high_16(slope, h->relu_multiplier);
  if (h->relu_shift > 0) slope = saturate_16(slope * 2);
  if (h->relu_shift < 0) slope = (int16_t)mafat_rule_divide(slope, -h->relu_shift);
  slope = (int16_t)((slope + (1 << 15)) >> 1);
  int16_t product = saturate_16(slope * scaled / (1 << 15));
  return clamp(mafat_rule_divide(product, -h->output_shift) + h->out.zero, h->out);
}

int mafat_rule_leaky(int q, int zero, struct mafat_rule_scale positive,
                     struct mafat_rule_scale negative, struct mafat_rule_output out)
{
  int x = q - zero;
  if (x >= 0) return mafat_rule_finish(x, positive, out);
  struct mafat_rule_scale magnitude = {abs(negative.multiplier), negative.shift};
  int64_t y = mafat_rule_rescale(x, magnitude);
  return clamp((negative.multiplier < 0 ? -y : y) + out.zero, out);
}

int mafat_rule_prelu(int q, int zero, int slope, int slope_zero, struct mafat_rule_scale positive,
                     struct mafat_rule_scale negative, struct mafat_rule_output out)
{
  int x = q - zero;
  return x >= 0 ? mafat_rule_finish(x, positive, out)
                : mafat_rule_finish(x * (slope - slope_zero), negative, out);
}

/* Scale of the exponent's input in Q5, limited to 2^31 - 1 per step of q. */
static struct mafat_rule_scale softmax_scale(float scale, float beta)
{
  double real = (double)beta * (double)scale * (1 << (31 - SOFTMAX_BITS));
  return mafat_rule_scale_of(real < 2147483647.0 ? real : 2147483647.0);
}

void mafat_rule_softmax(const int16_t *q, int16_t *out, int n, float scale, float beta)
{
  struct mafat_rule_scale in = softmax_scale(scale, beta);
  int radius = input_radius(SOFTMAX_BITS, in.shift), most = INT16_MIN, headroom = 0;
  for (int i = 0; i < n; i++) most = q[i] > most ? q[i] : most;
  int32_t sum = 0; /* in Q12 */
  for (int i = 0; i < n; i++)
    if (q[i] - most >= -radius)
      sum += mafat_rule_divide(exp_negative(mafat_rule_rescale(q[i] - most, in), SOFTMAX_BITS),
                               SUM_BITS);
  while (!((uint32_t)sum << headroom & UINT32_C(1) << 31)) headroom++;
  int32_t fraction = (int32_t)(((uint32_t)sum << headroom) - (UINT32_C(1) << 31));
  int32_t reciprocal = times_power_of_two(twice_reciprocal(fraction), 1);
  for (int i = 0; i < n; i++) {
    out[i] = -128;
    if (q[i] - most < -radius) continue;
    int32_t y = mafat_rule_double_high(reciprocal, exp_negative(mafat_rule_rescale(q[i] - most, in),
                                                                SOFTMAX_BITS));
    out[i] = (int16_t)clamp((int64_t)mafat_rule_divide(y, SUM_BITS - headroom + 31 - 8) - 128,
                            int8_output);
  }
}

/* ---- resizing ---- */

enum { RESIZE_BITS = 10, RESIZE_ONE = 1 << RESIZE_BITS };

struct resize_taps {
  int first, second, weight; /* weight: of `second`, in 1/1024 */
};

static struct resize_taps resize_taps(enum mafat_rule_grid grid, int in, int out, int at)
{
  bool corners = grid == MAFAT_RULE_CORNERS && out > 1;
  int32_t scale = corners ? (RESIZE_ONE * (in - 1) + (out - 1) / 2) / (out - 1)
                          : (RESIZE_ONE * in + out / 2) / out;
  int32_t place = at * scale + (grid == MAFAT_RULE_CENTRES ? scale / 2 - RESIZE_ONE / 2 : 0);
  int first = place / RESIZE_ONE, second = (place + RESIZE_ONE - 1) / RESIZE_ONE;
  if (first < 0) first = 0;
  if (second > in - 1) second = in - 1;
  return (struct resize_taps){first, second, place - RESIZE_ONE * first};
}

int mafat_rule_bilinear(const struct mafat_rule_map *in, enum mafat_rule_grid grid, int out_h,
                        int out_w, int y, int x, int channel)
{
  struct resize_taps v = resize_taps(grid, in->h, out_h, y), h = resize_taps(grid, in->w, out_w, x);
  int64_t a = pixel(in, v.first, h.first)[channel], b = pixel(in, v.second, h.first)[channel];
  int64_t c = pixel(in, v.first, h.second)[channel], d = pixel(in, v.second, h.second)[channel];
  int64_t left = a * (RESIZE_ONE - v.weight) + b * v.weight,
          right = c * (RESIZE_ONE - v.weight) + d * v.weight;
  int64_t sum = left * (RESIZE_ONE - h.weight) + right * h.weight,
          half = 1 << (2 * RESIZE_BITS - 1);
  return (int)((sum > 0 ? sum + half : sum - half) / (1 << 2 * RESIZE_BITS));
}

struct single_taps {
  int first, second;
  float weight; /* of `second` */
};

static struct single_taps single_taps(enum mafat_rule_grid grid, int in, int out, int at)
{
  bool corners = grid == MAFAT_RULE_CORNERS && out > 1;
  float scale = corners ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
  float place = grid == MAFAT_RULE_CENTRES ? ((float)at + .5f) * scale - .5f : (float)at * scale;
  int first = (int)floorf(place), second = (int)ceilf(place);
  if (first < 0) first = 0;
  if (second > in - 1) second = in - 1;
  return (struct single_taps){first, second, place - (float)first};
}

int mafat_rule_bilinear_single(const struct mafat_rule_map *in, enum mafat_rule_grid grid,
                               int out_h, int out_w, int y, int x, int channel)
{
  struct single_taps v = single_taps(grid, in->h, out_h, y), h = single_taps(grid, in->w, out_w, x);
  float a = pixel(in, v.first, h.first)[channel], b = pixel(in, v.second, h.first)[channel];
  float c = pixel(in, v.first, h.second)[channel], d = pixel(in, v.second, h.second)[channel];
  float sum = a * (1 - v.weight) * (1 - h.weight) + b * v.weight * (1 - h.weight) +
              c * (1 - v.weight) * h.weight + d * v.weight * h.weight + .5f;
  return (int)sum;
}

int mafat_rule_between_even(const int *numbers, int zero, float down, float across, float factor,
                            struct mafat_rule_output out)
{
  float real[4];
  for (int i = 0; i < 4; i++) real[i] = (float)(numbers[i] - zero);
  float sum = real[0] * (1 - down) * (1 - across) + real[1] * down * (1 - across) +
              real[2] * (1 - down) * across + real[3] * down * across;
  return clamp_even(sum * factor, out);
}

int mafat_rule_nearest(enum mafat_rule_grid grid, int in, int out, int at)
{
  bool corners = grid == MAFAT_RULE_CORNERS;
  float scale = corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
  float place = ((float)at + (grid == MAFAT_RULE_CENTRES ? 0.5f : 0.0f)) * scale;
  int nearest = (int)(corners ? roundf(place) : floorf(place));
  return nearest < in - 1 ? nearest : in - 1;
}
