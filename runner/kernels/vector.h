/* The few vector operations the kernels need, for the level this file is
 * compiled for. Included by kernel sources only.
 *
 * MADD is the one multiply-add of a class: fused where the hardware fuses,
 * two roundings in the plain class. Sources are compiled with
 * -ffp-contract=off, so that nothing else fuses. */
#ifndef MAFAT_RUNNER_KERNELS_VECTOR_H
#define MAFAT_RUNNER_KERNELS_VECTOR_H

#include <string.h>

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#define VECTOR_FUSED 1
#define VECTOR_LANES 8
typedef __m256 vec;

static inline vec vec_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vec_store(float *p, vec v) { _mm256_storeu_ps(p, v); }
static inline vec vec_all(float x) { return _mm256_set1_ps(x); }
static inline vec vec_madd(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec vec_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
/* a > b ? a : b, as Darknet's pooling compares: a NaN in a loses. */
static inline vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
static inline float scalar_madd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

static inline __m256i vec_mask(int n)
{
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The first n lanes; the others read as 0 and are not touched in memory. */
static inline vec vec_load_n(const float *p, int n)
{
  return n >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, vec_mask(n));
}

static inline void vec_store_n(float *p, vec v, int n)
{
  if (n >= 8) _mm256_storeu_ps(p, v);
  else _mm256_maskstore_ps(p, vec_mask(n), v);
}

#else

#define VECTOR_FUSED 0
#define VECTOR_LANES 4
typedef float vec __attribute__((vector_size(16)));

static inline vec vec_load(const float *p)
{
  vec v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline void vec_store(float *p, vec v) { memcpy(p, &v, sizeof v); }
static inline vec vec_all(float x) { return (vec){x, x, x, x}; }
static inline vec vec_madd(vec a, vec b, vec c) { return a * b + c; }
static inline vec vec_mul(vec a, vec b) { return a * b; }
static inline float scalar_madd(float a, float b, float c) { return a * b + c; }

static inline vec vec_max(vec a, vec b)
{
  typedef int mask __attribute__((vector_size(16)));
  mask m = a > b;
  return (vec)(((mask)a & m) | ((mask)b & ~m));
}

static inline vec vec_load_n(const float *p, int n)
{
  vec v = {0, 0, 0, 0};
  memcpy(&v, p, (size_t)(n < 4 ? n : 4) * sizeof *p);
  return v;
}

static inline void vec_store_n(float *p, vec v, int n)
{
  memcpy(p, &v, (size_t)(n < 4 ? n : 4) * sizeof *p);
}

#endif

#endif
