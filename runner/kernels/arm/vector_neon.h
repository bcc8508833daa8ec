/* Four lanes of NEON. aarch64: 32 registers, fused multiply-add. armv7 (VFPv4 is
 * not assumed): 16 registers, products are rounded, denormals are zero. See
 * ../vector.h. */
#ifndef MAFAT_RUNNER_KERNELS_ARM_VECTOR_NEON_H
#define MAFAT_RUNNER_KERNELS_ARM_VECTOR_NEON_H

#include <arm_neon.h>
#include <string.h>

#include "base/tuning.h"

#define VECTOR_LANES MAFAT_NEON_LANES
#define VECTOR_SEGMENTS MAFAT_NEON_SEGMENTS
#define VECTOR_TAPS MAFAT_NEON_TAPS
/* vec_accumulate_lane(&sum, a, b, lane): sum += a * b[lane] in the level's class */
#define VECTOR_BY_LANE
typedef float32x4_t vec;

static inline vec vec_load(const float *p) { return vld1q_f32(p); }
static inline void vec_store(float *p, vec v) { vst1q_f32(p, v); }
static inline vec vec_all(float x) { return vdupq_n_f32(x); }
static inline vec vec_add(vec a, vec b) { return vaddq_f32(a, b); }
static inline vec vec_sub(vec a, vec b) { return vsubq_f32(a, b); }
static inline vec vec_mul(vec a, vec b) { return vmulq_f32(a, b); }

/* Multiply-adds by lane are written out, for the compiler would otherwise overwrite
 * a factor instead of the sum here and there, and then run out of registers. */
#ifdef __aarch64__

#define VECTOR_FUSED 1
/* Six pixels x four vectors, six inputs, two weights: all 32 registers. */
#define VECTOR_PIXELS MAFAT_NEON_PIXELS
#define VECTOR_PIXELS_ALONE MAFAT_NEON_PIXELS
static inline vec vec_madd(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
static inline float scalar_madd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#define ADD_PRODUCT(LANE) __asm__("fmla %0.4s, %1.4s, " LANE : "+w"(*sum) : "w"(a), "w"(b))
#define LANE_0 "%2.s[0]"
#define LANE_1 "%2.s[1]"
#define LANE_2 "%2.s[2]"
#define LANE_3 "%2.s[3]"

#else

#define VECTOR_FUSED 0
/* Two pixels x four vectors, two inputs, two weights: 12 of 16 registers. */
#define VECTOR_PIXELS MAFAT_NEON_PIXELS
#define VECTOR_PIXELS_ALONE MAFAT_NEON_PIXELS
static inline vec vec_madd(vec a, vec b, vec c) { return vaddq_f32(vmulq_f32(a, b), c); }
static inline float scalar_madd(float a, float b, float c) { return a * b + c; }
/* vmla rounds the product; lanes are of d0 ... d15 only: the constraint t. */
#define ADD_PRODUCT(LANE) __asm__("vmla.f32 %q0, %q1, " LANE : "+w"(*sum) : "w"(a), "t"(b))
#define LANE_0 "%e2[0]"
#define LANE_1 "%e2[1]"
#define LANE_2 "%f2[0]"
#define LANE_3 "%f2[1]"

#endif

static inline void vec_accumulate(vec *sum, vec a, vec b) { *sum = vec_madd(a, b, *sum); }

static inline __attribute__((always_inline)) void vec_accumulate_lane(vec *sum, vec a, vec b, const int lane)
{
  switch (lane) {
  case 0: ADD_PRODUCT(LANE_0); break;
  case 1: ADD_PRODUCT(LANE_1); break;
  case 2: ADD_PRODUCT(LANE_2); break;
  default: ADD_PRODUCT(LANE_3); break;
  }
}

/* Not vmaxq_f32, which answers NaN where either is. */
static inline vec vec_max(vec a, vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }

static inline vec vec_load_n(const float *p, int n)
{
  if (n >= 4) return vld1q_f32(p);
  vec v = vld1q_lane_f32(p, vdupq_n_f32(0.0f), 0);
  if (n > 1) v = vld1q_lane_f32(p + 1, v, 1);
  if (n > 2) v = vld1q_lane_f32(p + 2, v, 2);
  return v;
}

static inline void vec_store_n(float *p, vec v, int n)
{
  if (n >= 4) {
    vst1q_f32(p, v);
    return;
  }
  vst1q_lane_f32(p, v, 0);
  if (n > 1) vst1q_lane_f32(p + 1, v, 1);
  if (n > 2) vst1q_lane_f32(p + 2, v, 2);
}

static inline vec vec_load_panel(const float *p, int n)
{
  (void)n;
  return vec_load(p);
}

#endif
