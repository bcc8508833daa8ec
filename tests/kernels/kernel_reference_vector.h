/* Vectors of one lane, fused or plain by REFERENCE_FUSED; runner/kernels/vector.h documents the
 * operations. Included by kernel_reference_body.h through LEVEL_VECTOR. */
#ifndef MAFAT_TESTS_KERNELS_KERNEL_REFERENCE_VECTOR_H
#define MAFAT_TESTS_KERNELS_KERNEL_REFERENCE_VECTOR_H

#include <math.h>
#include <string.h>

#define VECTOR_FUSED REFERENCE_FUSED
#define VECTOR_LANES 1
typedef float vec;

static inline float scalar_madd(float a, float b, float c)
{
#if REFERENCE_FUSED
  return fmaf(a, b, c);
#else
  float product = a * b;
  return product + c;
#endif
}

static inline vec vec_load(const float *p) { return *p; }
static inline void vec_store(float *p, vec v) { *p = v; }
static inline vec vec_all(float x) { return x; }
static inline vec vec_add(vec a, vec b) { return a + b; }
static inline vec vec_sub(vec a, vec b) { return a - b; }
static inline vec vec_mul(vec a, vec b) { return a * b; }
static inline vec vec_div(vec a, vec b) { return a / b; }
static inline vec vec_max(vec a, vec b) { return a > b ? a : b; }
static inline vec vec_min(vec a, vec b) { return a < b ? a : b; }
static inline vec vec_madd(vec a, vec b, vec c) { return scalar_madd(a, b, c); }
static inline vec vec_load_n(const float *p, int n) { (void)n; return *p; }
static inline void vec_store_n(float *p, vec v, int n) { (void)n; *p = v; }
static inline vec vec_load_panel(const float *p, int n) { (void)n; return *p; }

#endif
