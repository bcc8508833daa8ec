/* Activation functions in single precision, scalar and vectorized, with identical bits. Operations
 * are those of IEEE 754 and compilers contract none of them, so vectorized loops give the same
 * bits. Formulas are those of Darknet and AlexeyAB's fork, or of ONNX and TFLite for activations
 * that Darknet lacks (clip, sloped, steep, hard_sigmoid, hard_swish). Included by bodies.h and
 * finish.h, after vector.h. Touches only its arguments. */
#ifndef MAFAT_RUNNER_KERNELS_ACTIVATION_H
#define MAFAT_RUNNER_KERNELS_ACTIVATION_H

#include "network/network.h"
#include "runner/kernels/functions.h"

#include <stdint.h>

/* e^x within 2 ulp for |x| <= 87; other x are clamped, so that no result is infinite. Computed as
 * 2^n * p(r) with x = n ln 2 + r, |r| <= ln 2 / 2. p is the Taylor polynomial of degree 7; its
 * first omitted term is below 6e-9. */
static inline float exponential(float x)
{
  x = x < 87.0f ? x : 87.0f;
  x = x > -87.0f ? x : -87.0f;
  /* adding 1.5 * 2^23 rounds to the nearest integer */
  float n = scalar_madd(x, 1.44269504f, 12582912.0f) - 12582912.0f;
  /* ln 2 in two parts, of which the first is exact in 10 bits */
  float r = scalar_madd(n, -0.693359375f, x);
  r = scalar_madd(n, 2.12194440e-4f, r);
  float p = 1.98412698e-4f;
  p = scalar_madd(p, r, 1.38888889e-3f);
  p = scalar_madd(p, r, 8.33333333e-3f);
  p = scalar_madd(p, r, 4.16666667e-2f);
  p = scalar_madd(p, r, 1.66666667e-1f);
  p = scalar_madd(p, r, 0.5f);
  p = scalar_madd(p, r, 1.0f);
  p = scalar_madd(p, r, 1.0f);
  uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return p * power;
}

static inline float logistic(float x)
{
  return 1.0f / (1.0f + exponential(-x));
}

/* tanh(ln(1 + e^x)) = (e^2x + 2 e^x) / (e^2x + 2 e^x + 2) */
static inline float mish(float x)
{
  float e = exponential(x < 20.0f ? x : 20.0f); /* for larger x the quotient is 1 as a float */
  float n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

static inline float hyperbolic_tangent(float x)
{
  x = x < 43.0f ? x : 43.0f;
  float e = exponential(2.0f * x);
  return (e - 1.0f) / (e + 1.0f);
}

static inline float stair(float x)
{
  /* from n, not from x: x * 0.5f of a tiny negative x rounds to -0, whose floor is not -1 */
  float n = __builtin_floorf(x), half = __builtin_floorf(n * 0.5f);
  return n - 2.0f * __builtin_floorf(n * 0.5f) == 0.0f ? half : (x - n) + half;
}

static inline float plse(float x)
{
  if (x < -4.0f) return 0.01f * (x + 4.0f);
  if (x > 4.0f) return 0.01f * (x - 4.0f) + 1.0f;
  return 0.125f * x + 0.5f;
}

static inline float hard_mish(float x)
{
  float curve = 0.5f * x * x + x;
  return x > 0.0f ? x : (x > -2.0f ? curve : 0.0f);
}

static inline float clip(float x, float least, float most)
{
  x = x > least ? x : least;
  return x < most ? x : most;
}

static inline float activate_scalar(float x, struct mafat_activating a)
{
  switch (a.kind) {
  /* products are computed before x is compared, because compilers vectorize loops only then */
  case MAFAT_LEAKY: {
    float low = 0.1f * x;
    return x > 0.0f ? x : low;
  }
  case MAFAT_RELU: return x > 0.0f ? x : 0.0f;
  case MAFAT_RELU6: return clip(x, 0.0f, 6.0f);
  case MAFAT_LOGISTIC: return logistic(x);
  case MAFAT_MISH: return mish(x);
  case MAFAT_SWISH: return x * logistic(x);
  case MAFAT_ELU: return x >= 0.0f ? x : exponential(x) - 1.0f;
  case MAFAT_SELU: return x >= 0.0f ? 1.0507f * x : 1.0507f * 1.6732f * (exponential(x) - 1.0f);
  case MAFAT_TANH: return hyperbolic_tangent(x);
  case MAFAT_HARDTAN: return x < -1.0f ? -1.0f : (x > 1.0f ? 1.0f : x);
  case MAFAT_RAMP: return (x > 0.0f ? x : 0.0f) + 0.1f * x;
  case MAFAT_LOGGY: return 2.0f / (1.0f + exponential(-x)) - 1.0f;
  case MAFAT_PLSE: return plse(x);
  case MAFAT_STAIR: return stair(x);
  case MAFAT_RELIE: {
    float low = 0.01f * x;
    return x > 0.0f ? x : low;
  }
  case MAFAT_LHTAN: {
    float low = 0.001f * x, high = 0.001f * (x - 1.0f) + 1.0f;
    return x < 0.0f ? low : (x > 1.0f ? high : x);
  }
  case MAFAT_HARD_MISH: return hard_mish(x);
  case MAFAT_CLIP: return clip(x, a.a, a.b);
  case MAFAT_SLOPED:
  case MAFAT_STEEP: {
    float low = a.a * x;
    return x > 0.0f ? x : low;
  }
  case MAFAT_HARD_SIGMOID: return clip(scalar_madd(a.a, x, a.b), 0.0f, 1.0f);
  case MAFAT_HARD_SWISH: return x * (clip(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f));
  case MAFAT_LINEAR: return x;
  default: mafat_functions_activate(&x, 1, a); return x;
  }
}

/* ---- interleaved vectors ---- */

/* Left out in the reference level, which has one lane, and on armv7, where vectors flush denormals
 * but scalars do not. */
#if VECTOR_LANES > 1 && !defined __arm__

/* Each operation on a vector waits for the one before, so up to IN_STEP vectors are computed side
 * by side to use the processor better. Operations and bits are those of the scalar functions. */
enum { IN_STEP = 4, HAS_STEPS = 1 };

typedef int32_t vec_integers __attribute__((vector_size(sizeof(vec))));

/* x * 2^n for normal numbers: exact, by adding to the exponent. */
INLINE vec vec_scale(vec x, vec n)
{
  return (vec)((vec_integers)x + (__builtin_convertvector(n, vec_integers) << 23));
}

INLINE void exponentials(vec *x, const int N)
{
  static const float taylor[] = {1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f,
                                 1.66666667e-1f, 0.5f, 1.0f, 1.0f};
  const vec most = vec_all(87.0f), least = vec_all(-87.0f), turn = vec_all(12582912.0f);
  vec n[IN_STEP], p[IN_STEP];
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) x[i] = vec_max(vec_min(x[i], most), least);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) n[i] = vec_sub(vec_madd(x[i], vec_all(1.44269504f), turn), turn);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) x[i] = vec_madd(n[i], vec_all(-0.693359375f), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) x[i] = vec_madd(n[i], vec_all(2.12194440e-4f), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) p[i] = vec_all(taylor[0]);
#pragma GCC unroll 8
  for (int k = 1; k < 8; k++) {
    const vec next = vec_all(taylor[k]);
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) p[i] = vec_madd(p[i], x[i], next);
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) x[i] = vec_scale(p[i], n[i]);
}

INLINE void logistics(vec *y, const int N)
{
  const vec one = vec_all(1.0f);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = -y[i];
  exponentials(y, N);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_div(one, vec_add(one, y[i]));
}

/* Replaces y by the factor n / (n + 2) of mish; n is computed from e^y. */
INLINE void mish_quotients(vec *y, const int N)
{
  const vec two = vec_all(2.0f);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_min(y[i], vec_all(20.0f));
  exponentials(y, N);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_mul(y[i], vec_add(y[i], two));
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_div(y[i], vec_add(y[i], two));
}

INLINE void hyperbolic_tangents(vec *y, const int N)
{
  const vec one = vec_all(1.0f);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_mul(vec_all(2.0f), vec_min(y[i], vec_all(43.0f)));
  exponentials(y, N);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_div(vec_sub(y[i], one), vec_add(y[i], one));
}

INLINE void hard_sigmoids(vec *y, const int N)
{
  const vec zero = vec_all(0.0f), six = vec_all(6.0f), sixth = vec_all(1.0f / 6.0f);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_min(vec_max(vec_add(y[i], vec_all(3.0f)), zero), six);
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_mul(y[i], sixth);
}

/* Activates N vectors. For the activations that are products x * f(x), y is the factor f(x). */
INLINE void activate_step(float *x, const enum mafat_activation KIND, const int N)
{
  const bool product = KIND == MAFAT_SWISH || KIND == MAFAT_MISH || KIND == MAFAT_HARD_SWISH;
  vec y[IN_STEP];
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) y[i] = vec_load(x + i * VECTOR_LANES);
  switch (KIND) {
  case MAFAT_MISH: mish_quotients(y, N); break;
  case MAFAT_TANH: hyperbolic_tangents(y, N); break;
  case MAFAT_HARD_SWISH: hard_sigmoids(y, N); break;
  default: logistics(y, N);
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) {
    float *to = x + i * VECTOR_LANES;
    vec_store(to, product ? vec_mul(vec_load(to), y[i]) : y[i]);
  }
}

/* Activates n floats in steps of up to IN_STEP vectors. The last two steps are of nearly equal
 * size, for example three and two, because a step with one vector takes as long as a step with
 * IN_STEP vectors. Returns n, or 0 if n is less than VECTOR_LANES. */
INLINE size_t activate_steps(float *x, size_t n, const enum mafat_activation KIND)
{
  size_t left = n / VECTOR_LANES;
  if (left == 0) return 0;
  for (; left > 6 || left == 4; left -= 4, x += 4 * VECTOR_LANES) activate_step(x, KIND, 4);
  for (; left >= 3; left -= 3, x += 3 * VECTOR_LANES) activate_step(x, KIND, 3);
  if (left == 2) activate_step(x, KIND, 2);
  if (left == 1) activate_step(x, KIND, 1);
  const size_t rest = n % VECTOR_LANES;
  if (rest > 0) {
    vec part = vec_load_n(x + left * VECTOR_LANES, (int)rest);
    float floats[VECTOR_LANES];
    vec_store(floats, part);
    activate_step(floats, KIND, 1);
    memcpy(x + left * VECTOR_LANES, floats, rest * sizeof *x);
  }
  return n;
}

/* Calls activate_steps for an activation that is known only at run time. Returns 0 if it has no
 * such version. */
static inline size_t activate_in_step(float *x, size_t n, enum mafat_activation kind)
{
  switch (kind) {
  case MAFAT_LOGISTIC: return activate_steps(x, n, MAFAT_LOGISTIC);
  case MAFAT_SWISH: return activate_steps(x, n, MAFAT_SWISH);
  case MAFAT_MISH: return activate_steps(x, n, MAFAT_MISH);
  case MAFAT_TANH: return activate_steps(x, n, MAFAT_TANH);
  case MAFAT_HARD_SWISH: return activate_steps(x, n, MAFAT_HARD_SWISH);
  default: return 0;
  }
}

#else

enum { HAS_STEPS = 0 };

static inline size_t activate_in_step(float *x, size_t n, enum mafat_activation kind)
{
  (void)x, (void)n, (void)kind;
  return 0;
}

#endif

/* Activates an array that is shorter than a vector. Marked cold, so that the loop is not
 * vectorized. */
static __attribute__((cold, noinline, unused)) void activate_few(float *x, size_t n,
                                                                 struct mafat_activating a)
{
  for (size_t i = 0; i < n; i++) x[i] = activate_scalar(x[i], a);
}

/* Activates n floats. The activation is constant in each loop, so that compilers vectorize it. */
static void activate_array(float *x, size_t n, struct mafat_activating a)
{
  const size_t done = activate_in_step(x, n, a.kind);
#define EACH(KIND) \
  for (size_t i = 0; i < n; i++) \
    x[i] = activate_scalar(x[i], (struct mafat_activating){KIND, a.a, a.b}); \
  break;
  switch (a.kind) {
#define DARKNET(CONSTANT, name, price, integers, loop) loop(MAFAT_##CONSTANT)
#define KERNEL DARKNET
#define FUNCTION(...)
#define UNCHANGED(KIND) case KIND: break;
#define LOOPED(KIND) case KIND: EACH(KIND)
#define STEPPED(KIND) \
  case KIND: \
    if (HAS_STEPS) { \
      if (done < n) activate_few(x + done, n - done, a); \
      break; \
    } \
    EACH(KIND)
#include "network/activations.def"
  default:
    mafat_functions_activate(x, n, a);
  }
#undef EACH
}

#endif
