/* Activations and blends for graph models in plain C. Called by the kernels (activation.h,
 * elementwise.h) and by integer_functions.c. Touches only its arguments. Loops are written so that
 * compilers vectorize them. */
#include "runner/kernels/functions.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- e^x and related functions: loops over these vectorize ---- */

/* 1.5 * 2^23: adding it rounds to the nearest integer, which is then in the lowest bits. */
#define ROUNDER 12582912.0f

static inline float float_of(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t bits_of(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Selects without a branch, so that loops vectorize; both values are computed. */
static inline float choose(int condition, float one, float other)
{
  uint32_t mask = -(uint32_t)condition;
  return float_of((bits_of(one) & mask) | (bits_of(other) & ~mask));
}

/* x = r + n ln 2, |r| <= ln 2 / 2; n is stored as a float and as the integer `exponent`. */
struct reduced {
  float r, n;
  int32_t exponent;
};

/* Reduces the sum x + rest. The first part of ln 2 is subtracted from x without rounding. */
static inline struct reduced reduce(float x, float rest)
{
  float shifted = (x + rest) * 1.44269504f + ROUNDER, n = shifted - ROUNDER;
  float r = ((x - n * 0.693359375f) + rest) + n * 2.12194440e-4f;
  return (struct reduced){r, n, (int32_t)(bits_of(shifted) - bits_of(ROUNDER))};
}

static inline float power_of_two(int32_t exponent)
{
  return float_of((uint32_t)(exponent + 127) << 23);
}

/* (e^r - 1) / r */
static inline float grown(float r)
{
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  return p * r + 1.0f;
}

/* e^(x + rest) within 2 ulp, also for denormal results; 0 or infinity outside the range of
 * floats. */
static inline float exponential_of(float x, float rest)
{
  struct reduced a = reduce(x, rest);
  int32_t half = a.exponent >> 1;
  float y = (grown(a.r) * a.r + 1.0f) * power_of_two(half) * power_of_two(a.exponent - half),
        sum = x + rest;
  y = choose(sum < -104.0f, 0.0f, y);
  return choose(sum > 89.0f, INFINITY, y);
}

static inline float exponential(float x)
{
  return exponential_of(x, 0);
}

/* e^x - 1 for x <= 0. */
static inline float less_one(float x)
{
  x = choose(x < -40.0f, -40.0f, x);
  struct reduced a = reduce(x, 0);
  float power = power_of_two(a.exponent);
  return power * (grown(a.r) * a.r) + (power - 1.0f);
}

static inline float tangent(float x)
{
  float t = less_one(-2.0f * fabsf(x));
  return copysignf(-t / (2.0f + t), x);
}

/* Error function near 0: Taylor polynomial. */
static inline float near_error(float x)
{
  float s = x * x, p = 1.20553333e-4f;
  p = p * s - 8.54832706e-4f;
  p = p * s + 5.22397763e-3f;
  p = p * s - 2.68661706e-2f;
  p = p * s + 1.12837917e-1f;
  p = p * s - 3.76126389e-1f;
  return x * (p * s + 1.12837917f);
}

/* 1 - erf(z) for z >= 0, where z^2 = square + rest: t e^(-z^2 + P(t)), t = 1 / (1 + z / 2)
 * (Numerical Recipes, erfcc). Within 1.2e-7, plus rounding. */
static inline float far_error(float z, float square, float rest)
{
  float t = 1.0f / (1.0f + 0.5f * z), p = 0.17087277f;
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  p = p * t - 1.26551223f;
  return t * exponential_of(-square, p - rest);
}

/* x^2 as the sum of the result and *rest; the result is computed without rounding. */
static inline float split_square(float x, float *rest)
{
  float high = float_of(bits_of(x) & 0xfffff000u);
  *rest = (x - high) * (x + high);
  return high * high;
}

static inline float error_function(float x)
{
  float z = choose(fabsf(x) > 10.0f, 10.0f, fabsf(x)), rest, square = split_square(z, &rest);
  float far = copysignf(1.0f - far_error(z, square, rest), x);
  return choose(z < 0.5f, near_error(x), far);
}

/* x (1 + erf(x / sqrt(2))) / 2 */
static inline float gelu(float x)
{
  float a = choose(fabsf(x) > 20.0f, 20.0f, fabsf(x)), z = a * 0.707106781f, rest,
        square = split_square(a, &rest);
  float beyond = far_error(z, 0.5f * square, 0.5f * rest), half = 0.5f * x;
  float far = half * choose(x < 0.0f, beyond, 2.0f - beyond);
  return choose(z < 0.5f, half + half * near_error(x * 0.707106781f), far);
}

static inline float swish(float x, float exponent)
{
  return x / (1.0f + exponential(-exponent));
}

/* x (1 + tanh(u)) / 2 = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3) */
static inline float gelu_by_tangent(float x)
{
  return swish(x, x * (1.59576912f + 0.0713548163f * (x * x)));
}

/* ---- integers ---- */

/* Rounds to the nearest integer, ties to even. */
static inline float rounded(float x)
{
  float near = copysignf((fabsf(x) + 8388608.0f) - 8388608.0f, x);
  return choose(fabsf(x) < 8388608.0f, near, x);
}

static inline float floor_of(float x)
{
  float near = rounded(x);
  return copysignf(near - choose(near > x, 1.0f, 0.0f), x);
}

static inline float ceiling_of(float x)
{
  float near = rounded(x);
  return copysignf(near + choose(near < x, 1.0f, 0.0f), x);
}

/* ---- functions that use the C library ---- */

static float softplus(float x)
{
  float e = exponential(-fabsf(x)), more = e < 1e-4f ? e - 0.5f * e * e : (float)log(1 + (double)e);
  return (x > 0.0f ? x : 0.0f) + more;
}

static float function_of(float x, enum mafat_activation kind, float a, float b)
{
  switch (kind) {
  case MAFAT_SCALED_ELU: return choose(x > 0.0f, b * x, a * b * less_one(x));
  case MAFAT_CELU: return choose(x > 0.0f, x, a * less_one(x / a));
  case MAFAT_SOFTPLUS: return softplus(x);
  case MAFAT_SOFTSIGN: return x / (1.0f + fabsf(x));
  case MAFAT_GELU: return gelu(x);
  case MAFAT_GELU_TANH: return gelu_by_tangent(x);
  case MAFAT_SCALED_SWISH: return swish(x, a * x);
  case MAFAT_EXACT_TANH: return tangent(x);
  case MAFAT_ERF: return error_function(x);
  case MAFAT_ABS: return fabsf(x);
  case MAFAT_NEG: return -x;
  case MAFAT_AFFINE: return a * x + b;
  case MAFAT_SIN: return sinf(x);
  case MAFAT_COS: return cosf(x);
  case MAFAT_THRESHOLDED: return choose(x > a, x, 0.0f);
  case MAFAT_EXP: return exponential(x);
  case MAFAT_LOG: return (float)log((double)x);
  case MAFAT_SQRT: return sqrtf(x);
  case MAFAT_RECIPROCAL: return 1.0f / x;
  case MAFAT_RSQRT: return 1.0f / sqrtf(x);
  case MAFAT_SQUARE: return x * x;
  case MAFAT_POW: return (float)pow((double)x, (double)a);
  case MAFAT_CEIL: return ceiling_of(x);
  case MAFAT_FLOOR: return floor_of(x);
  case MAFAT_ROUND: return rounded(x);
  case MAFAT_SIGN: return choose(x > 0.0f, 1.0f, choose(x < 0.0f, -1.0f, x));
  default: return x;
  }
}

void mafat_functions_activate(float *x, size_t n, struct mafat_activating f)
{
#define CASE(KIND) \
  case KIND: \
    for (size_t i = 0; i < n; i++) x[i] = function_of(x[i], KIND, f.a, f.b); \
    break
  switch (f.kind) {
#define DARKNET(...)
#define KERNEL(...)
#define FUNCTION(CONSTANT, ...) CASE(MAFAT_##CONSTANT);
#include "network/activations.def"
  default: break;
  }
#undef CASE
}

void mafat_functions_blend(const struct mafat_blend_call *c)
{
  bool reversed = c->blend == MAFAT_BLEND_RPOW;
  const float *x = c->x, *z = c->z;
  float *y = c->y;
  for (int col = 0; col < c->n_cols;
       col++, x += c->x_pixel_floats, z += c->z_pixel_floats, y += c->y_pixel_floats)
    for (int i = 0; i < c->n_channels; i++) {
      double a = (double)x[i], b = (double)z[c->z_single ? 0 : i];
      y[i] = (float)(reversed ? pow(b, a) : pow(a, b));
    }
}
