/* Converts four half-precision floats (runner/kernels/vector.h) without a conversion instruction.
 * No operand or result of a float operation is denormal, because 32-bit Arm flushes denormals.
 * Included by vector_portable.h and, for 32-bit Arm, arm/vector_neon.h. */
#ifndef MAFAT_RUNNER_KERNELS_VECTOR_HALVES_H
#define MAFAT_RUNNER_KERNELS_VECTOR_HALVES_H

#include <stdint.h>
#include <string.h>

static inline vec vec_load_halves(const uint16_t *p)
{
  typedef float four __attribute__((vector_size(16)));
  typedef uint32_t bits __attribute__((vector_size(16)));
  const bits h = {p[0], p[1], p[2], p[3]}, sign = (h & 0x8000u) << 16, rest = (h & 0x7fffu) << 13;
  const bits infinite = (bits)(rest >= 0x0f800000u), no_number = (bits)(rest > 0x0f800000u),
             small = (bits)(rest < 0x00800000u);
  /* The exponent biases of the two formats differ by 112. Infinities and NaNs need 2 * 112, and
   * NaNs become quiet. */
  const bits usual = (rest + (112u << 23) + (infinite & (112u << 23))) | (no_number & 0x00400000u);
  /* denormals: m 2^-24 = 2^-14 (1 + m / 1024) - 2^-14 */
  const bits lifted = rest + (113u << 23);
  four x;
  memcpy(&x, &lifted, sizeof x);
  x -= 0x1p-14f;
  bits least;
  memcpy(&least, &x, sizeof least);
  const bits whole = sign | (least & small) | (usual & ~small);
  vec v;
  memcpy(&v, &whole, sizeof v);
  return v;
}

#endif
