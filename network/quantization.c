/* Requantization factors and multipliers by the rules of TFLite and ONNX. Called by formats/,
 * network/kinds, runner/engine, runner/kernels and runner/weights. Pure functions. */
#include "network/quantization.h"

#include <math.h>
#include <string.h>

/* Returns the quantized value of a real number, not clamped. Halves are rounded away from zero, or
 * to even if the parameters follow ONNX's rule. */
static double number_of(const struct mafat_quantization *q, float real)
{
  float steps = real / q->scale;
  return q->zero + (double)(q->rounding == MAFAT_REQUANTIZE_EVEN ? rintf(steps) : roundf(steps));
}

static int clamp_byte(double number)
{
  return number < 0 ? 0 : number > 255 ? 255 : (int)number;
}

void mafat_quantization_clamp(struct mafat_quantization *q, float least, float most)
{
  if (isfinite(least) && number_of(q, least) > q->least)
    q->least = (unsigned char)clamp_byte(number_of(q, least));
  if (isfinite(most) && number_of(q, most) < q->most)
    q->most = (unsigned char)clamp_byte(number_of(q, most));
}

int mafat_quantization_number(const struct mafat_quantization *q, float real)
{
  return isnan(real) ? q->least : clamp_byte(number_of(q, real));
}

/* The precision of the division matters: products of the factor are often exactly halves, and the
 * factor's last bit decides whether these are rounded up or down. */
double mafat_requantizing_factor(const struct mafat_quantization *from,
                                 const struct mafat_quantization *to)
{
  return to->rounding == MAFAT_REQUANTIZE_SINGLE ? (double)(from->scale / to->scale)
                                                 : (double)from->scale / (double)to->scale;
}

struct mafat_multiplier mafat_multiplier(double factor)
{
  static const struct mafat_multiplier none = {0, 0};
  int shift;
  int64_t bits = (int64_t)round(frexp(factor, &shift) * 0x1p31);
  if (bits == (int64_t)1 << 31) bits /= 2, shift++;
  return factor == 0 || shift < -31 ? none : (struct mafat_multiplier){(int32_t)bits, shift};
}

bool mafat_multiplier_can(double factor)
{
  return fabs(factor) < 0x1p30 && mafat_multiplier(factor).shift <= 30;
}

/* TFLite computes hard swish in 16 bits: neither shift may be to the right by 16 or more, and the
 * output's shift may not be to the left. */
bool mafat_quantization_can_hard_swish(const struct mafat_quantization *in,
                                       const struct mafat_quantization *out)
{
  const float finer = (1.0f / 128.0f) * in->scale, output = finer / out->scale,
              third = finer / (3.0f / 32768.0f);
  if (!isfinite(output) || !isfinite(third)) return false; /* infinity and NaN have no shift */
  int shift = mafat_multiplier((double)output).shift;
  return shift <= 0 && shift > -16 && mafat_multiplier((double)third).shift > -16;
}

double mafat_quantization_factor(float in_scale, float weights_scale, float out_scale, bool single)
{
  float product = in_scale * weights_scale;
  return (single ? (double)product : (double)in_scale * (double)weights_scale) / (double)out_scale;
}

struct mafat_multiplier mafat_multiplier_even(float in_scale, float weights_scale, float out_scale)
{
  struct mafat_multiplier m = {0, 0};
  float factor = in_scale * weights_scale / out_scale;
  memcpy(&m.multiplier, &factor, sizeof factor);
  return m;
}
