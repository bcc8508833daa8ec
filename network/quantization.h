/* What the whole numbers of a tensor mean, and what follows from it for those who compute with them: TFLite's rule and
 * ONNX's, in one place.
 *
 * A tensor of 8 bits holds unsigned bytes, whatever its file calls them: signed ones have their zero point, and each
 * of their numbers, 128 more. Nothing that is computed changes by that. */
#ifndef MAFAT_NETWORK_QUANTIZATION_H
#define MAFAT_NETWORK_QUANTIZATION_H

#include "network/dtype.h"

#include <stdbool.h>

/* By which rule numbers come to another scale. */
enum mafat_requantizing {
  MAFAT_REQUANTIZE_FIXED, /* TFLite: by a multiplier of 31 bits and a shift */
  MAFAT_REQUANTIZE_SINGLE, /* the same, of scales divided as floats: TFLite's bounds (RELU) */
  MAFAT_REQUANTIZE_FLOAT, /* TFLite's joins: number * scale - zero * scale as floats, halves away from zero */
  MAFAT_REQUANTIZE_EVEN   /* ONNX: a product with a float scale, halves to the even number */
};

/* real = scale * (number - zero); numbers that are put out lie in [least, most]. A scale of 0: floats. */
struct mafat_quantization {
  float scale;
  unsigned char zero, least, most;
  unsigned char rounding : 7; /* enum mafat_requantizing: by which it is made */
  unsigned char is_signed : 1; /* to the file these are signed numbers: means round halves away from theirs' 0 */
};

enum { MAFAT_SIGNED_TO_BYTE = 128 }; /* what a signed byte has more as an unsigned one */

static inline struct mafat_quantization mafat_quantization(float scale, int zero)
{
  return (struct mafat_quantization){.scale = scale, .zero = (unsigned char)zero, .most = 255};
}

/* Is it one of the first two rules, by a multiplier of whole numbers? */
static inline bool mafat_requantizes_by_multiplier(const struct mafat_quantization *to)
{
  return to->rounding == MAFAT_REQUANTIZE_FIXED || to->rounding == MAFAT_REQUANTIZE_SINGLE;
}

/* Of these two: what numbers of `from` are multiplied by. */
double mafat_requantizing_factor(const struct mafat_quantization *from, const struct mafat_quantization *to);

/* What products of two numbers are multiplied by, by TFLite's rule, which has it of floats: they may become infinite, or 0. */
static inline double mafat_product_factor(float a, float b, float out)
{
  return (double)(a * b / out);
}

/* Do numbers mean the same? */
static inline bool mafat_quantization_equals(const struct mafat_quantization *a, const struct mafat_quantization *b)
{
  return a->scale == b->scale && a->zero == b->zero;
}

/* Keeps what is put out between two reals; infinite ones do not count. */
void mafat_quantization_clamp(struct mafat_quantization *q, float least, float most);

/* A number of that scale that is nearest to a real, halves away from zero, as QUANTIZE has it, or, by ONNX's rule, to the
 * even number. */
int mafat_quantization_number(const struct mafat_quantization *q, float real);

/* number * multiplier / 2^31 * 2^shift: multiplier in [2^30, 2^31), or of a negative factor in [-2^31, -2^30], shift from
 * -31 to 30; of less than that both are 0. The factor is less than 2^30 (mafat_multiplier_can): TFLite's rule shifts no further, its
 * reference would shift 1 out of an int. */
struct mafat_multiplier {
  int32_t multiplier;
  int shift;
};

struct mafat_multiplier mafat_multiplier(double factor);

/* Is there a multiplier of it? Neither of what is no number, nor of what would need a larger shift. */
bool mafat_multiplier_can(double factor);

/* Can hard swish, which takes its inputs 128 times as fine, put out numbers of that scale? */
bool mafat_quantization_can_hard_swish(const struct mafat_quantization *in, const struct mafat_quantization *out);

/* By what sums of products come to the output's scale: TFLite multiplies the two scales as floats where weights have
 * one scale and the operator is fully connected or its numbers unsigned (`single`), else as doubles. */
double mafat_quantization_factor(float in_scale, float weights_scale, float out_scale, bool single);

/* ONNX's, in floats: its bits are the multiplier. */
struct mafat_multiplier mafat_multiplier_even(float in_scale, float weights_scale, float out_scale);

#endif
