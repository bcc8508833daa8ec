/* Quantization parameters of tensors, and the requantization rules of TFLite and ONNX.
 *
 * An 8-bit tensor always holds unsigned bytes. For a signed type in the file, 128 is added to the
 * zero point and to each value; results do not change.
 *
 * Included by network/layer.h, runner/kernels/integer.h and runner/kernels/requantize.h; called by
 * formats/, network/kinds, runner/engine, runner/kernels and runner/weights. Pure functions. */
#ifndef MAFAT_NETWORK_QUANTIZATION_H
#define MAFAT_NETWORK_QUANTIZATION_H

#include "network/dtype.h"

#include <stdbool.h>

/* Rule of rounding when integers are converted to another scale. */
enum mafat_requantizing {
  MAFAT_REQUANTIZE_FIXED, /* TFLite: a 31-bit multiplier and a shift */
  MAFAT_REQUANTIZE_SINGLE, /* like FIXED, but the factor is a quotient of floats instead of doubles:
                              TFLite's RELU operators */
  /* TFLite's concatenation: value * scale - zero * scale in floats, halves away from zero */
  MAFAT_REQUANTIZE_FLOAT,
  MAFAT_REQUANTIZE_EVEN   /* ONNX: a product with a float scale, halves to even */
};

/* Quantization parameters: real = scale * (value - zero). Layers clamp their output to [least,
 * most]. A scale of 0: floats. */
struct mafat_quantization {
  float scale;
  unsigned char zero, least, most;
  unsigned char rounding : 7; /* enum mafat_requantizing, the rule that makes this output */
  /* the file's type is signed: means round halves away from the type's 0, which is stored as byte
   * 128 */
  unsigned char is_signed : 1;
};

enum { MAFAT_SIGNED_TO_BYTE = 128 }; /* added to a signed byte */

static inline struct mafat_quantization mafat_quantization(float scale, int zero)
{
  return (struct mafat_quantization){.scale = scale, .zero = (unsigned char)zero, .most = 255};
}

/* True for the two rules with an integer multiplier. */
static inline bool mafat_requantizes_by_multiplier(const struct mafat_quantization *to)
{
  return to->rounding == MAFAT_REQUANTIZE_FIXED || to->rounding == MAFAT_REQUANTIZE_SINGLE;
}

/* Returns the factor that converts values of scale `from` to scale `to`. The rule of `to` must be
 * one with an integer multiplier. */
double mafat_requantizing_factor(const struct mafat_quantization *from,
                                 const struct mafat_quantization *to);

/* Returns the factor that converts products of values of scales a and b to scale `out`, by TFLite's
 * rule. Computed in floats: it may be infinite or 0. */
static inline double mafat_product_factor(float a, float b, float out)
{
  return (double)(a * b / out);
}

/* True if both have the same scale and zero point. */
static inline bool mafat_quantization_equals(const struct mafat_quantization *a,
                                             const struct mafat_quantization *b)
{
  return a->scale == b->scale && a->zero == b->zero;
}

/* Narrows q->least and q->most to a range of reals; infinite bounds are ignored. */
void mafat_quantization_clamp(struct mafat_quantization *q, float least, float most);

/* Quantizes a real: to the nearest byte, with halves away from zero (TFLite's QUANTIZE), or to even
 * by ONNX's rule. NaN gives q->least. */
int mafat_quantization_number(const struct mafat_quantization *q, float real);

/* A factor in fixed point: multiplier / 2^31 * 2^shift. multiplier is in [2^30, 2^31), for negative
 * factors in [-2^31, -2^30]; shift is -31 to 30. Both are 0 for smaller factors. Factors are below
 * 2^30 (mafat_multiplier_can): a larger shift would overflow an int in TFLite's reference. */
struct mafat_multiplier {
  int32_t multiplier;
  int shift;
};

struct mafat_multiplier mafat_multiplier(double factor);

/* True if struct mafat_multiplier can hold the factor. False for NaN, and if it needs a larger
 * shift. */
bool mafat_multiplier_can(double factor);

/* True if TFLite's hard swish of integers, which adds 7 bits of precision to its input, can convert
 * between these scales. */
bool mafat_quantization_can_hard_swish(const struct mafat_quantization *in,
                                       const struct mafat_quantization *out);

/* Returns the factor that converts sums of products to the output's scale. TFLite multiplies the
 * two scales as floats if `single` (weights with one scale, in a fully connected or an unsigned
 * operator), else as doubles. */
double mafat_quantization_factor(float in_scale, float weights_scale, float out_scale, bool single);

/* Returns the factor by ONNX's rule, a float whose bits are stored as the multiplier. */
struct mafat_multiplier mafat_multiplier_even(float in_scale, float weights_scale, float out_scale);

#endif
