/* Integer functions in plain C: tables, softmax, means, resizing, by TFLite's and ONNX's rules.
 * Called by the integer layers (runner/engine/kinds/integer/). Touches only its arguments. */
#include "runner/kernels/integer_functions.h"

#include "runner/kernels/functions.h"
#include "runner/kernels/requantize.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static uint8_t put(const struct mafat_quantization *q, int64_t x)
{
  int64_t y = x + q->zero;
  return (uint8_t)(y < q->least ? q->least : y > q->most ? q->most : y);
}

/* ---- fixed point: Qn is a 32-bit integer with n integer bits and 31 - n fraction bits. The
 * product of Qm and Qn is Q(m + n) ---- */

enum { FUNCTION_BITS = 4, SOFTMAX_BITS = 5, SUM_BITS = 12 };

static int32_t saturate(int64_t x)
{
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

/* Converts to a format with n fewer integer bits, saturating. */
static int32_t widen_fraction(int32_t x, int n)
{
  return saturate((int64_t)x * (INT64_C(1) << n));
}

/* e^x for Q0 x in [-1/4, 0): Taylor polynomial of degree four about -1/8. */
static int32_t exp_of_quarter(int32_t x)
{
  enum { AT_EIGHTH = 1895147668, THIRD = 715827883 }; /* e^(-1/8), 1/3 */
  const int32_t d = x + (1 << 28), d2 = mafat_high_product(d, d), d3 = mafat_high_product(d2, d),
                d4 = mafat_high_product(d2, d2);
  const int32_t third = mafat_high_product(mafat_divide_by_power(d4, 2) + d3, THIRD);
  return AT_EIGHTH + mafat_high_product(AT_EIGHTH, d + mafat_divide_by_power(third + d2, 1));
}

/* e^x in Q0 for x <= 0 in Qn. Divides x into a multiple of 1/4 and a rest in [-1/4, 0). The
 * polynomial takes the rest; each bit of the multiple is a constant factor. */
static int32_t exp_of(int32_t x, int n)
{
  static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                    39332535,   720401,     242}; /* e^-1/4, e^-1/2 ... e^-16 */
  const int32_t quarter = 1 << (29 - n), last = (x & (quarter - 1)) - quarter, rest = last - x;
  if (x == 0) return INT32_MAX;
  int32_t y = exp_of_quarter(widen_fraction(last, n));
  for (int bit = 0; bit < n + 2; bit++)
    if (rest & (quarter << bit)) y = mafat_high_product(y, factors[bit]);
  return y;
}

/* 2 / (1 + x) in Q2 for Q0 x from 0 to 1: three Newton steps from 48/17 - 32/17 d, with d = (1 + x)
 * / 2. */
static int32_t twice_reciprocal(int32_t x)
{
  enum { FROM = 1515870810, SLOPE = -1010580540, ONE = 1 << 29 };
  const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
  int32_t y = FROM + mafat_high_product(half, SLOPE);
  for (int step = 0; step < 3; step++)
    y += widen_fraction(mafat_high_product(y, ONE - mafat_high_product(half, y)), 2);
  return y;
}

/* ---- tables ---- */

/* Dequantizes all 256 values. */
static void list_reals(const struct mafat_quantization *in, float reals[256])
{
  for (int q = 0; q < 256; q++) reals[q] = (float)(q - in->zero) * in->scale;
}

/* Quantizes floats, clamped to out's bounds. */
static void list_numbers(const struct mafat_integer_kernels *kernels, const float reals[256],
                         const struct mafat_quantization *out, uint8_t *table)
{
  kernels->reals(out, reals, table, 256);
  for (int q = 0; q < 256; q++)
    table[q] = table[q] < out->least ? out->least : table[q] > out->most ? out->most : table[q];
}

void mafat_integer_table_requantize(const struct mafat_integer_kernels *kernels, uint8_t *table,
                                    const struct mafat_quantization *in,
                                    const struct mafat_quantization *out)
{
  const struct mafat_multiplier m = mafat_multiplier(mafat_requantizing_factor(in, out));
  const float inverse = 1.0f / out->scale, factor = in->scale * inverse,
              from_zero = (float)-in->zero * factor;
  const bool same = in->zero == out->zero && in->scale == out->scale;
  float reals[256];
  if (out->rounding == MAFAT_REQUANTIZE_EVEN) {
    list_reals(in, reals);
    list_numbers(kernels, reals, out, table);
    return;
  }
  for (int q = 0; q < 256; q++)
    if (mafat_requantizes_by_multiplier(out))
      table[q] = put(out, mafat_requantize(q - in->zero, m));
    else
      table[q] = put(
          out, same ? q - in->zero
                    : (int64_t)fminf(fmaxf(roundf((float)q * factor + from_zero), -65536), 65536));
}

/* Returns the greatest difference of an input from its zero point that fits into n integer bits
 * after the left shift: at most 256, because with fine scales it would exceed an int. */
static int radius_of(int n, int shift)
{
  enum { ANY = 1 << 8 };
  const double steps = floor(((1 << n) - 1) * ldexp(1, 31 - n - shift));
  return steps < ANY ? (int)steps : ANY;
}

/* Conversion to Q4 of an input minus its zero point. If the magnitude of this difference exceeds
 * `radius`, the function saturates. */
struct function_input {
  struct mafat_multiplier scale;
  int radius;
};

static struct function_input function_input(float scale)
{
  const struct mafat_multiplier m = mafat_multiplier((double)scale * (1 << (31 - FUNCTION_BITS)));
  return (struct function_input){m, radius_of(FUNCTION_BITS, m.shift)};
}

static int32_t logistic(int32_t x)
{
  const int32_t magnitude = x < 0 ? -x : x,
                y = widen_fraction(twice_reciprocal(exp_of(-magnitude, FUNCTION_BITS)), 1);
  return x == 0 ? 1 << 30 : x < 0 ? INT32_MAX - y : y;
}

static int32_t tangent(int32_t x)
{
  const int32_t magnitude = x < 0 ? -x : x; /* read as Q5, this is twice |x| */
  const int32_t y =
      widen_fraction(twice_reciprocal(exp_of(-magnitude, FUNCTION_BITS + 1)) - (1 << 29), 2);
  return x == 0 ? 0 : x < 0 ? -y : y;
}

static void table_of(uint8_t *table, const struct mafat_quantization *in,
                     int32_t (*function)(int32_t), int bits, int zero)
{
  const struct function_input input = function_input(in->scale);
  const struct mafat_quantization all = {.zero = (unsigned char)zero, .most = 255};
  for (int q = 0; q < 256; q++) {
    const int x = q - in->zero;
    if (x <= -input.radius) table[q] = 0;
    else if (x >= input.radius) table[q] = 255;
    else
      table[q] =
          put(&all, mafat_divide_by_power(function(mafat_requantize(x, input.scale)), 31 - bits));
  }
}

void mafat_integer_table_logistic(uint8_t *table, const struct mafat_quantization *in)
{
  table_of(table, in, logistic, 8, 0);
}

void mafat_integer_table_tanh(uint8_t *table, const struct mafat_quantization *in)
{
  table_of(table, in, tangent, 7, 128);
}

/* ---- x times a factor between 0 and 1, in 16 bits ---- */

static int16_t saturate_16(int32_t x)
{
  return x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : (int16_t)x;
}

static int16_t high_product_16(int16_t a, int16_t b)
{
  return saturate_16((a * b + (1 << 14)) >> 15);
}

static int16_t upper_half(int32_t multiplier)
{
  return multiplier >= INT32_MAX - (1 << 15) ? INT16_MAX
                                             : (int16_t)((multiplier + (1 << 15)) >> 16);
}

/* Returns the multiplier that converts an input, shifted left by 7 bits, to scale `of`. */
static struct mafat_multiplier hard_swish_scale(const struct mafat_quantization *in, float of)
{
  return mafat_multiplier((double)((1.0f / 128.0f) * in->scale / of));
}

void mafat_integer_table_hard_swish(uint8_t *table, const struct mafat_quantization *in,
                                    const struct mafat_quantization *out)
{
  const struct mafat_multiplier output = hard_swish_scale(in, out->scale),
                                third = hard_swish_scale(in, 3.0f / 32768.0f);
  const int left = third.shift > 0 ? third.shift - 1 : 0;
  for (int q = 0; q < 256; q++) {
    const int16_t x = (int16_t)((q - in->zero) * 128),
                  scaled = high_product_16(x, upper_half(output.multiplier));
    /* x / 3, clamped to -1 ... 1, mapped to 0 ... 1 */
    int16_t slope = saturate_16((int32_t)fmin(fmax(ldexp(x, left), INT16_MIN), INT16_MAX));
    slope = high_product_16(slope, upper_half(third.multiplier));
    if (third.shift > 0) slope = saturate_16(2 * slope);
    if (third.shift < 0) slope = (int16_t)mafat_divide_by_power(slope, -third.shift);
    slope = (int16_t)((slope + (1 << 15)) >> 1);
    /* truncated, not rounded */
    table[q] =
        put(out, mafat_divide_by_power(saturate_16(slope * scaled / (1 << 15)), -output.shift));
  }
}

void mafat_integer_table_leaky(uint8_t *table, const struct mafat_quantization *in,
                               const struct mafat_quantization *out, float slope)
{
  const float negative = in->scale * slope / out->scale;
  const struct mafat_multiplier above = mafat_multiplier((double)(in->scale / out->scale));
  const struct mafat_multiplier below = mafat_multiplier((double)fabsf(negative));
  for (int q = 0; q < 256; q++) {
    const int x = q - in->zero;
    int64_t y = mafat_requantize(x, x >= 0 ? above : below);
    table[q] = put(out, x < 0 && negative < 0 ? -y : y);
  }
}

/* ---- ONNX's rule ---- */

static double between(double x, double least, double most)
{
  return fmin(fmax(x, least), most);
}

/* Computes functions in double if their float kernels give different bits at different levels.
 * Returns false for other functions: their float kernels give the same bits at all levels. */
static bool apply(struct mafat_activating f, double x, double *y)
{
  switch (f.kind) {
  case MAFAT_RELU: *y = fmax(x, 0); return true;
  case MAFAT_RELU6: *y = between(x, 0, 6); return true;
  case MAFAT_CLIP: *y = between(x, (double)f.a, (double)f.b); return true;
  case MAFAT_LOGISTIC: *y = 1 / (1 + exp(-x)); return true;
  case MAFAT_SWISH: *y = x / (1 + exp(-x)); return true;
  case MAFAT_MISH: *y = x * tanh(log1p(exp(x))); return true;
  case MAFAT_SLOPED:
  case MAFAT_STEEP: *y = x < 0 ? (double)f.a * x : x; return true;
  case MAFAT_HARD_SIGMOID: *y = between((double)f.a * x + (double)f.b, 0, 1); return true;
  case MAFAT_HARD_SWISH: *y = x * between(x + 3, 0, 6) / 6; return true;
  default: return false;
  }
}

/* Fast path: applies functions for which float and double give the same result to all 256 values.
 * Some plans compute a table for every row. */
static bool apply_to_all(struct mafat_activating f, float x[256])
{
  const float least = f.kind == MAFAT_CLIP ? f.a : 0, most = f.kind == MAFAT_CLIP    ? f.b
                                                             : f.kind == MAFAT_RELU6 ? 6
                                                                                     : INFINITY;
  if (f.kind == MAFAT_SLOPED || f.kind == MAFAT_STEEP)
    for (int q = 0; q < 256; q++) x[q] = x[q] < 0 ? f.a * x[q] : x[q];
  else if (f.kind == MAFAT_RELU || f.kind == MAFAT_RELU6 || f.kind == MAFAT_CLIP)
    for (int q = 0; q < 256; q++) {
      /* in some files the minimum exceeds the maximum; the maximum then wins */
      x[q] = x[q] < least ? least : x[q];
      x[q] = x[q] > most ? most : x[q];
    }
  else
    return f.kind == MAFAT_LINEAR;
  return true;
}

void mafat_integer_table_even(const struct mafat_integer_kernels *kernels, uint8_t *table,
                              const struct mafat_quantization *in,
                              const struct mafat_quantization *out, struct mafat_activating f)
{
  float reals[256];
  list_reals(in, reals);
  if (!apply_to_all(f, reals))
    for (int q = 0; q < 256; q++) {
      double y;
      if (apply(f, (double)reals[q], &y)) reals[q] = (float)y;
      else mafat_functions_activate(&reals[q], 1, f);
    }
  list_numbers(kernels, reals, out, table);
}

void mafat_integer_exponentials_even(double *exponentials, float scale)
{
  for (int d = 0; d < 256; d++) exponentials[d] = exp(-d * (double)scale);
}

void mafat_integer_softmax_even(const double *exponentials, const uint8_t *in, uint8_t *out, int n,
                                const struct mafat_quantization *to)
{
  int most = 0;
  double sum = 0;
  for (int i = 0; i < n; i++) most = in[i] > most ? in[i] : most;
  for (int i = 0; i < n; i++) sum += exponentials[most - in[i]];
  for (int i = 0; i < n; i++)
    out[i] = mafat_put_even(to, (float)(exponentials[most - in[i]] / sum) / to->scale);
}

uint8_t mafat_integer_mean_even(int64_t sum, int n, const struct mafat_quantization *in,
                                const struct mafat_quantization *out)
{
  return mafat_put_even(out,
                        (float)(sum - (int64_t)n * in->zero) * (in->scale / out->scale) / (float)n);
}

/* ---- softmax ---- */

void mafat_integer_exponentials(int32_t *exponentials, float scale, float beta)
{
  const double most = 2147483647.0,
               real = (double)beta * (double)scale * (1 << (31 - SOFTMAX_BITS));
  const struct mafat_multiplier m = mafat_multiplier(real < most ? real : most);
  const int radius = radius_of(SOFTMAX_BITS, m.shift);
  for (int d = 0; d < 256; d++)
    exponentials[d] = d > radius ? -1 : exp_of(mafat_requantize(-d, m), SOFTMAX_BITS);
}

void mafat_integer_softmax(const int32_t *exponentials, const uint8_t *in, uint8_t *out, int n)
{
  const struct mafat_quantization all = {.most = 255};
  int most = 0, headroom = 0;
  for (int i = 0; i < n; i++) most = in[i] > most ? in[i] : most;
  int64_t sum = 0; /* in Q12 */
  for (int i = 0; i < n; i++)
    if (exponentials[most - in[i]] >= 0)
      sum += mafat_divide_by_power(exponentials[most - in[i]], SUM_BITS);
  sum = saturate(sum);
  while ((sum << headroom) < INT64_C(1) << 31) headroom++;
  const int32_t reciprocal =
      widen_fraction(twice_reciprocal((int32_t)((sum << headroom) - (INT64_C(1) << 31))), 1);
  const int shift = SUM_BITS - headroom + 31 - 8;
  for (int i = 0; i < n; i++) {
    const int32_t e = exponentials[most - in[i]];
    /* shifts above 31 give 0 */
    out[i] = e < 0 || shift > 31
                 ? 0
                 : put(&all, mafat_divide_by_power(mafat_high_product(reciprocal, e), shift));
  }
}

/* ---- means ---- */

uint8_t mafat_integer_mean(int64_t sum, int n, int zero, struct mafat_multiplier scale,
                           const struct mafat_quantization *out)
{
  int shift = 0;
  while (n >> shift > 1) shift++;
  if (shift > 31 + scale.shift) shift = 31 + scale.shift;
  const struct mafat_multiplier by_n = {(int32_t)(((int64_t)scale.multiplier << shift) / n),
                                        scale.shift - shift};
  return put(out, mafat_requantize(saturate(sum - (int64_t)zero * n), by_n));
}

/* ---- resizing ---- */

enum { TAP_BITS = 10, TAP_ONE = 1 << TAP_BITS, BLOCK = MAFAT_CHANNEL_BLOCK };

/* Input pixels around an output column, with up to a block of channels: upper left, lower left,
 * upper right, lower right. */
struct corners {
  uint8_t at[4][BLOCK];
};

static inline void take_corners(struct corners *to, const struct mafat_integer_resize_call *c,
                                int col, int n)
{
  const ptrdiff_t left = (ptrdiff_t)(c->taps[col].at - c->origin) * c->in_pixel_bytes;
  const ptrdiff_t right = (ptrdiff_t)(c->taps[col].next - c->origin) * c->in_pixel_bytes;
  memcpy(to->at[0], c->above + left, (size_t)n);
  memcpy(to->at[1], c->below + left, (size_t)n);
  memcpy(to->at[2], c->above + right, (size_t)n);
  memcpy(to->at[3], c->below + right, (size_t)n);
}

static inline void put_block(const struct mafat_integer_resize_call *c, int col,
                             const uint8_t *numbers, int n)
{
  memcpy(c->out + (ptrdiff_t)col * c->out_pixel_bytes, numbers, (size_t)n);
}

static inline int keep(int number, int least, int most)
{
  return number < least ? least : number > most ? most : number;
}

/* Interpolates a row in fixed point. Factors fit 16 bits and sums 32 bits, so that compilers can
 * use 16-bit multiplications. */
static inline void fix_row(const struct mafat_integer_resize_call *c, int n)
{
  enum { HALF = 1 << (2 * TAP_BITS - 1) };
  const int16_t from = c->to->is_signed ? MAFAT_SIGNED_TO_BYTE : 0;
  const int16_t down = (int16_t)(c->weight * TAP_ONE), up = (int16_t)(TAP_ONE - down);
  const int least = c->to->least - from, most = c->to->most - from;
  struct corners in = {0};
  for (int col = 0; col < c->n_cols; col++) {
    const int across = (int)(c->taps[col].weight * TAP_ONE);
    uint8_t out[BLOCK];
    take_corners(&in, c, col, n);
    for (int i = 0; i < BLOCK; i++) {
      const int16_t x[] = {(int16_t)(in.at[0][i] - from), (int16_t)(in.at[1][i] - from),
                           (int16_t)(in.at[2][i] - from), (int16_t)(in.at[3][i] - from)};
      const int left = x[0] * up + x[1] * down, right = x[2] * up + x[3] * down;
      const int sum = left * TAP_ONE + (right - left) * across, away = sum > 0 ? HALF : HALF - 1;
      out[i] = (uint8_t)(keep((sum + away) >> 2 * TAP_BITS, least, most) + from);
    }
    put_block(c, col, out, n);
  }
}

void mafat_integer_resize_fixed(const struct mafat_integer_resize_call *c)
{
  if (c->n_channels == BLOCK) fix_row(c, BLOCK);
  else fix_row(c, c->n_channels);
}

/* Interpolates channel i of the four pixels in floats, in TFLite's order of operations. `from` is
 * subtracted from each value first. */
static inline float between_four(const struct corners *in, int i, int from, float down,
                                 float across)
{
  return (((float)(in->at[0][i] - from) * (1 - down) * (1 - across) +
           (float)(in->at[1][i] - from) * down * (1 - across)) +
          (float)(in->at[2][i] - from) * (1 - down) * across) +
         (float)(in->at[3][i] - from) * down * across;
}

static inline void single_row(const struct mafat_integer_resize_call *c, int n)
{
  const int least = c->to->least, most = c->to->most;
  struct corners in = {0};
  for (int col = 0; col < c->n_cols; col++) {
    const float down = c->weight, across = c->taps[col].weight;
    uint8_t out[BLOCK];
    take_corners(&in, c, col, n);
    for (int i = 0; i < BLOCK; i++)
      out[i] = (uint8_t)keep((int)(between_four(&in, i, 0, down, across) + .5f), least, most);
    put_block(c, col, out, n);
  }
}

void mafat_integer_resize_single(const struct mafat_integer_resize_call *c)
{
  if (c->n_channels == BLOCK) single_row(c, BLOCK);
  else single_row(c, c->n_channels);
}

static inline void even_row(const struct mafat_integer_resize_call *c, int n)
{
  const float factor = c->in->scale / c->to->scale;
  const struct mafat_quantization to = *c->to;
  const int zero = c->in->zero;
  struct corners in = {0};
  for (int col = 0; col < c->n_cols; col++) {
    const float down = c->weight, across = c->taps[col].weight;
    uint8_t out[BLOCK];
    take_corners(&in, c, col, n);
    for (int i = 0; i < BLOCK; i++)
      out[i] = mafat_put_even(&to, between_four(&in, i, zero, down, across) * factor);
    put_block(c, col, out, n);
  }
}

void mafat_integer_resize_even(const struct mafat_integer_resize_call *c)
{
  if (c->n_channels == BLOCK) even_row(c, BLOCK);
  else even_row(c, c->n_channels);
}
