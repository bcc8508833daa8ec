/* Converts IEEE 754 half precision (16 bits) to float. Included by formats/graph/places.c and
 * runner/weights/narrow.c. Pure inline functions. */
#ifndef MAFAT_BASE_HALF_H
#define MAFAT_BASE_HALF_H

#include <stdint.h>
#include <string.h>

/* Infinities and NaNs are preserved. */
static inline float mafat_half_value(uint16_t half)
{
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff, bits = rest << 13;
  float value;
  if (rest >= 0x7c00) bits |= 0x7f800000;
  else if (rest >= 0x0400) bits += 112u << 23; /* difference of the two exponent biases, 127 - 15 */
  else {
    float steps = (float)rest * 0x1p-24f;
    memcpy(&bits, &steps, sizeof bits);
  }
  bits |= sign;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif
