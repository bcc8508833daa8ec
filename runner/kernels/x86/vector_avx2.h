/* Float vectors of eight lanes with fused multiply-add; interface in ../vector.h. Included by
 * avx2.c. */
#ifndef MAFAT_RUNNER_KERNELS_X86_VECTOR_AVX2_H
#define MAFAT_RUNNER_KERNELS_X86_VECTOR_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/tuning.h"

#define VECTOR_FUSED 1
#define VECTOR_LANES MAFAT_AVX2_LANES
/* A register tile needs 15 of 16 registers: six pixels x two vectors of sums, two vectors of
 * weights and one broadcast input. */
#define VECTOR_PIXELS MAFAT_AVX2_PIXELS
#define VECTOR_PIXELS_ALONE MAFAT_AVX2_PIXELS_ALONE
#define VECTOR_SEGMENTS MAFAT_AVX2_SEGMENTS
#define VECTOR_TAPS MAFAT_AVX2_TAPS
typedef __m256 vec;

static inline vec vec_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vec_store(float *p, vec v) { _mm256_storeu_ps(p, v); }
static inline vec vec_all(float x) { return _mm256_set1_ps(x); }
static inline vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
static inline vec vec_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
static inline vec vec_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
static inline vec vec_div(vec a, vec b) { return _mm256_div_ps(a, b); }
static inline vec vec_madd(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
/* *sum += a * b. Uses inline assembly, because compilers sometimes put the result into the register
 * of a or b instead of the sum's, and then spill registers. */
static inline void vec_accumulate(vec *sum, vec a, vec b)
{
  __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(a), "x"(b));
}

/* sums[v] += weights[v] * x in all lanes, for v < n (n is 1 or 2). x is the float at the byte
 * address in + times * step + 4 * tap, where times is 0 to 4; step3 is 3 * step. Uses inline
 * assembly for the reason above, and because compilers would keep a pointer for each pixel. */
#define VECTOR_BROADCASTS
#define VECTOR_SHORT_RUNS 1
#define ACCUMULATE(ADDRESS) \
  do { \
    vec x; \
    if (n == 2) \
      __asm__("vbroadcastss %c[at]" ADDRESS \
              ", %[x]\n\tvfmadd231ps %[w0], %[x], %[s0]\n\tvfmadd231ps %[w1], %[x], %[s1]" \
              : [s0] "+x"(sums[0]), [s1] "+x"(sums[n - 1]), [x] "=&x"(x) \
              : [w0] "x"(weights[0]), [w1] "x"(weights[n - 1]), [in] "r"(in), [step] "r"(step), \
                [step3] "r"(step3), "m"(*(const float(*)[1 << 20]) in), [at] "i"(4 * tap)); \
    else \
      __asm__("vbroadcastss %c[at]" ADDRESS ", %[x]\n\tvfmadd231ps %[w0], %[x], %[s0]" \
              : [s0] "+x"(sums[0]), [x] "=&x"(x) \
              : [w0] "x"(weights[0]), [in] "r"(in), [step] "r"(step), [step3] "r"(step3), \
                "m"(*(const float(*)[1 << 20]) in), [at] "i"(4 * tap)); \
  } while (0)
static inline __attribute__((always_inline)) void vec_accumulate_broadcast(
    vec *sums, const vec *weights, const int n, const char *in, size_t step, size_t step3,
    const int times, const int tap)
{
  switch (times) {
  case 0: ACCUMULATE("(%[in])"); break;
  case 1: ACCUMULATE("(%[in],%[step])"); break;
  case 2: ACCUMULATE("(%[in],%[step],2)"); break;
  case 3: ACCUMULATE("(%[in],%[step3])"); break;
  default: ACCUMULATE("(%[in],%[step],4)"); break;
  }
}
#undef ACCUMULATE

static inline vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
static inline vec vec_min(vec a, vec b) { return _mm256_min_ps(a, b); }
static inline float scalar_madd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

static inline __m256i vec_mask(int n)
{
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vec vec_load_n(const float *p, int n)
{
  return n >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, vec_mask(n));
}

/* Stores halves of the vector, because masked stores take about twenty cycles on several
 * processors. */
static inline void vec_store_n(float *p, vec v, int n)
{
  if (n >= 8) {
    _mm256_storeu_ps(p, v);
    return;
  }
  __m128 rest = _mm256_castps256_ps128(v);
  if (n & 4) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if (n & 2) {
    _mm_storel_pi((__m64 *)(void *)p, rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if (n & 1) _mm_store_ss(p, rest);
}

/* A pair is a vector of two groups of four floats, from `low` and `high`. vec_pair_lane replicates
 * one float of each group in the group's lanes. */
#define VECTOR_PAIRS 1
static inline vec vec_load_pair(const float *low, const float *high)
{
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
static inline __attribute__((always_inline)) vec vec_pair_lane(vec v, const int lane)
{
  switch (lane) {
  case 0: return _mm256_permute_ps(v, 0x00);
  case 1: return _mm256_permute_ps(v, 0x55);
  case 2: return _mm256_permute_ps(v, 0xaa);
  default: return _mm256_permute_ps(v, 0xff);
  }
}
static inline void vec_store_pair(float *low, float *high, vec v)
{
  _mm_storeu_ps(low, _mm256_castps256_ps128(v));
  _mm_storeu_ps(high, _mm256_extractf128_ps(v, 1));
}

static inline vec vec_load_halves(const uint16_t *p)
{
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline vec vec_load_bytes(const int8_t *p)
{
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}

/* Loads eight signed numbers of 4 bits. Each lane gets all eight, shifts its own number to the top,
 * and back down with the sign. */
static inline vec vec_load_nibbles(const uint8_t *p)
{
  int eight;
  memcpy(&eight, p, sizeof eight);
  const __m256i top =
      _mm256_sllv_epi32(_mm256_set1_epi32(eight), _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0));
  return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 28));
}

static inline vec vec_load_panel(const float *p, int n)
{
  (void)n;
  return vec_load(p);
}

#endif
