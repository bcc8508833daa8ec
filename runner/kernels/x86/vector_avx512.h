/* Float vectors of sixteen lanes with masks and fused multiply-add; interface in ../vector.h.
 * Included by avx512.c. */
#ifndef MAFAT_RUNNER_KERNELS_X86_VECTOR_AVX512_H
#define MAFAT_RUNNER_KERNELS_X86_VECTOR_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/tuning.h"

#define VECTOR_FUSED 1
#define VECTOR_LANES MAFAT_AVX512_LANES
/* fourteen pixels x two vectors, two weights and a broadcast: 31 of 32 registers */
#define VECTOR_PIXELS MAFAT_AVX512_PIXELS
#define VECTOR_PIXELS_ALONE MAFAT_AVX512_PIXELS_ALONE
#define VECTOR_SEGMENTS MAFAT_AVX512_SEGMENTS
#define VECTOR_TAPS MAFAT_AVX512_TAPS
typedef __m512 vec;

static inline vec vec_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void vec_store(float *p, vec v) { _mm512_storeu_ps(p, v); }
static inline vec vec_all(float x) { return _mm512_set1_ps(x); }
static inline vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
static inline vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
static inline vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
static inline vec vec_div(vec a, vec b) { return _mm512_div_ps(a, b); }
static inline vec vec_madd(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline void vec_accumulate(vec *sum, vec a, vec b) { *sum = vec_madd(a, b, *sum); }
static inline vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); }
static inline vec vec_min(vec a, vec b) { return _mm512_min_ps(a, b); }
static inline float scalar_madd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

static inline __mmask16 vec_mask(int n)
{
  return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1u);
}

static inline vec vec_load_n(const float *p, int n)
{
  return _mm512_maskz_loadu_ps(vec_mask(n), p);
}

static inline void vec_store_n(float *p, vec v, int n)
{
  if (n >= 16) _mm512_storeu_ps(p, v); /* masked stores are slow */
  else _mm512_mask_storeu_ps(p, vec_mask(n), v);
}

static inline vec vec_load_halves(const uint16_t *p)
{
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline vec vec_load_bytes(const int8_t *p)
{
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

/* Each lane gets eight nibbles, shifts its own nibble to the top, and then arithmetically down,
 * which extends the sign. */
static inline vec vec_load_nibbles(const uint8_t *p)
{
  long long sixteen;
  memcpy(&sixteen, p, sizeof sixteen);
  const __m512i halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const __m512i up = _mm512_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
  const __m512i top =
      _mm512_sllv_epi32(_mm512_permutexvar_epi32(halves, _mm512_set1_epi64(sixteen)), up);
  return _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 28));
}

static inline vec vec_load_panel(const float *p, int n) { return vec_load_n(p, n); }

#endif
