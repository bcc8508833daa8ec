/* Float vectors of four lanes by the compiler's vector extension: SSE2, NEON or scalars, depending
 * on the target. Multiply-adds round twice (the plain class). Interface in runner/kernels/vector.h.
 * Included by runner/kernels/portable.c. */
#ifndef MAFAT_RUNNER_KERNELS_VECTOR_PORTABLE_H
#define MAFAT_RUNNER_KERNELS_VECTOR_PORTABLE_H

#include <stdint.h>
#include <string.h>

#include "base/tuning.h"

#define VECTOR_FUSED 0
#define VECTOR_LANES MAFAT_PORTABLE_LANES
/* two pixels x four vectors, four weights and a broadcast: 13 of 16 registers */
#define VECTOR_PIXELS MAFAT_PORTABLE_PIXELS
#define VECTOR_PIXELS_ALONE MAFAT_PORTABLE_PIXELS_ALONE
#define VECTOR_SEGMENTS MAFAT_PORTABLE_SEGMENTS
#define VECTOR_TAPS MAFAT_PORTABLE_TAPS
typedef float vec __attribute__((vector_size(16)));

static inline vec vec_load(const float *p)
{
  vec v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline void vec_store(float *p, vec v) { memcpy(p, &v, sizeof v); }
static inline vec vec_all(float x) { return (vec){x, x, x, x}; }
static inline vec vec_add(vec a, vec b) { return a + b; }
static inline vec vec_sub(vec a, vec b) { return a - b; }
static inline vec vec_mul(vec a, vec b) { return a * b; }
static inline vec vec_div(vec a, vec b) { return a / b; }
static inline vec vec_madd(vec a, vec b, vec c) { return a * b + c; }
static inline void vec_accumulate(vec *sum, vec a, vec b) { *sum = vec_madd(a, b, *sum); }
static inline float scalar_madd(float a, float b, float c) { return a * b + c; }

static inline vec vec_max(vec a, vec b)
{
  typedef int mask __attribute__((vector_size(16)));
  mask m = a > b;
  return (vec)(((mask)a & m) | ((mask)b & ~m));
}

static inline vec vec_min(vec a, vec b)
{
  typedef int mask __attribute__((vector_size(16)));
  mask m = a < b;
  return (vec)(((mask)a & m) | ((mask)b & ~m));
}

static inline vec vec_load_n(const float *p, int n)
{
  vec v = {0, 0, 0, 0};
  if (n >= 4) return vec_load(p);
  memcpy(&v, p, (size_t)n * sizeof *p);
  return v;
}

static inline void vec_store_n(float *p, vec v, int n)
{
  memcpy(p, &v, (size_t)(n < 4 ? n : 4) * sizeof *p);
}

#include "runner/kernels/vector_halves.h"

static inline vec vec_load_bytes(const int8_t *p)
{
  return (vec){p[0], p[1], p[2], p[3]};
}

static inline vec vec_load_nibbles(const uint8_t *p)
{
  typedef int32_t ints __attribute__((vector_size(16)));
  const ints low = {p[0] & 15, p[0] >> 4, p[1] & 15, p[1] >> 4}, signed_ones = (low ^ 8) - 8;
  return __builtin_convertvector(signed_ones, vec);
}

static inline vec vec_load_panel(const float *p, int n)
{
  (void)n;
  return vec_load(p);
}

#endif
