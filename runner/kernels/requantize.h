/* Scalar requantization by TFLite's and ONNX's rules (integer.h), for layers that do not need
 * vectors. Touches only its arguments. Included by runner/engine/kinds/integer/normalize.c,
 * integer_bodies.h and integer_functions.c. */
#ifndef MAFAT_RUNNER_KERNELS_REQUANTIZE_H
#define MAFAT_RUNNER_KERNELS_REQUANTIZE_H

#include "network/quantization.h"

/* Returns the upper half of twice the product, rounded to nearest, ties up, as in TFLite's rule. */
static inline int32_t mafat_high_product(int32_t a, int32_t b)
{
  if (a == INT32_MIN && b == INT32_MIN) return INT32_MAX;
  int64_t product = (int64_t)a * b;
  return (int32_t)((product + (product >= 0 ? (1 << 30) : 1 - (1 << 30))) / ((int64_t)1 << 31));
}

/* Divides by 2^n, rounded to nearest, ties away from zero. */
static inline int32_t mafat_divide_by_power(int32_t x, int n)
{
  int32_t mask = (int32_t)(((int64_t)1 << n) - 1), rest = x & mask, half = (mask >> 1) + (x < 0);
  return (x >> n) + (rest > half);
}

/* Requantizes a sum by TFLite's rule, without zero point. A left shift saturates. */
static inline int32_t mafat_requantize(int32_t x, struct mafat_multiplier m)
{
  int64_t wide = (int64_t)x * ((int64_t)1 << (m.shift > 0 ? m.shift : 0));
  int32_t shifted = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
  return mafat_divide_by_power(mafat_high_product(shifted, m.multiplier),
                               m.shift > 0 ? 0 : -m.shift);
}

/* Adds the zero point q->zero and clamps to q->least ... q->most. */
static inline unsigned char mafat_put_number(const struct mafat_quantization *q, int32_t x)
{
  int64_t number = (int64_t)x + q->zero;
  return (unsigned char)(number < q->least ? q->least : number > q->most ? q->most : number);
}

/* Quantizes by ONNX's rule: rounds y (real value / scale) to nearest, ties to even, adds the zero
 * point and clamps. */
static inline unsigned char mafat_put_even(const struct mafat_quantization *q, float y)
{
  static const float magic = 0x1.8p23f; /* adding it rounds to an integer */
  const float least = (float)(q->least - q->zero), most = (float)(q->most - q->zero);
  y = y > least ? y : least;
  y = (y < most ? y : most) + magic;
  return (unsigned char)((int32_t)(y - magic) + q->zero);
}

#endif
