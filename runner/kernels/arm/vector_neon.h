/* Float vectors of four NEON lanes; interface in ../vector.h. aarch64 has 32 registers and fused
 * multiply-add. armv7 has 16 registers, rounds a product before it is added, and flushes denormals;
 * VFPv4 is not assumed. Included by neon.c. */
#ifndef MAFAT_RUNNER_KERNELS_ARM_VECTOR_NEON_H
#define MAFAT_RUNNER_KERNELS_ARM_VECTOR_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "base/tuning.h"

#define VECTOR_LANES MAFAT_NEON_LANES
#define VECTOR_SEGMENTS MAFAT_NEON_SEGMENTS
#define VECTOR_TAPS MAFAT_NEON_TAPS
/* vec_accumulate_lane(&sum, a, b, lane): sum += a * b[lane], with the level's rounding */
#define VECTOR_BY_LANE
typedef float32x4_t vec;

static inline vec vec_load(const float *p) { return vld1q_f32(p); }
static inline void vec_store(float *p, vec v) { vst1q_f32(p, v); }
static inline vec vec_all(float x) { return vdupq_n_f32(x); }
static inline vec vec_add(vec a, vec b) { return vaddq_f32(a, b); }
static inline vec vec_sub(vec a, vec b) { return vsubq_f32(a, b); }
static inline vec vec_mul(vec a, vec b) { return vmulq_f32(a, b); }
static inline vec vec_div(vec a, vec b) { return a / b; } /* lane by lane on armv7 */

/* Multiply-adds by lane are inline assembly, because compilers sometimes overwrite a factor instead
 * of the sum, and then spill registers. */
#ifdef __aarch64__

#define VECTOR_FUSED 1
#define VECTOR_MANY_REGISTERS 1
/* six pixels x four vectors, six inputs, two weights: all 32 registers */
#define VECTOR_PIXELS MAFAT_NEON_PIXELS
#define VECTOR_PIXELS_ALONE MAFAT_NEON_PIXELS_ALONE
static inline vec vec_madd(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
static inline float scalar_madd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#define ADD_PRODUCT(LANE) __asm__("fmla %0.4s, %1.4s, " LANE : "+w"(*sum) : "w"(a), "w"(b))
#define LANE_0 "%2.s[0]"
#define LANE_1 "%2.s[1]"
#define LANE_2 "%2.s[2]"
#define LANE_3 "%2.s[3]"

#else

#define VECTOR_FUSED 0
/* two pixels x four vectors, two inputs, two weights: 12 of 16 registers */
#define VECTOR_PIXELS MAFAT_NEON_PIXELS
#define VECTOR_PIXELS_ALONE MAFAT_NEON_PIXELS_ALONE
/* rounds the product */
static inline vec vec_madd(vec a, vec b, vec c) { return vmlaq_f32(c, a, b); }
static inline float scalar_madd(float a, float b, float c) { return a * b + c; }
/* vmla rounds the product. Lanes exist only for d0 ... d15: constraint t. */
#define ADD_PRODUCT(LANE) __asm__("vmla.f32 %q0, %q1, " LANE : "+w"(*sum) : "w"(a), "t"(b))
#define LANE_0 "%e2[0]"
#define LANE_1 "%e2[1]"
#define LANE_2 "%f2[0]"
#define LANE_3 "%f2[1]"

/* vec_accumulate_taps(a, b, x, y, w, width, n): adds n taps, a multiple of four: those of the pixel
 * at x to the four vectors of sums a, and those of the pixel at y to b. Returns the address of the
 * next weights. Inline assembly, because compilers keep inputs in registers without lanes and copy
 * them for every product. Weights are loaded four products ahead. */
#define VECTOR_BY_TAPS
#define TAP(X, Y, LOAD_FIRST, LOAD_SECOND) \
  "vmla.f32 %q[a0], q8, " X "\n\tvmla.f32 %q[b0], q8, " Y "\n\t" \
  "vmla.f32 %q[a1], q9, " X "\n\tvmla.f32 %q[b1], q9, " Y "\n\t" LOAD_FIRST \
  "vmla.f32 %q[a2], q10, " X "\n\tvmla.f32 %q[b2], q10, " Y "\n\t" \
  "vmla.f32 %q[a3], q11, " X "\n\tvmla.f32 %q[b3], q11, " Y "\n\t" LOAD_SECOND
#define LOAD_FIRST "vld1.32 {d16-d19}, [%[w]]!\n\t"
#define LOAD_SECOND "vld1.32 {d20-d23}, [%[w]], %[rest]\n\t"

static inline __attribute__((always_inline)) const float *vec_accumulate_taps(
    vec *a, vec *b, const char *x, const char *y, const float *w, int width, int n)
{
  const size_t rest = ((size_t)width - 2 * VECTOR_LANES) * sizeof(float);
  __asm__ volatile("1:\n\t"
                   "vld1.32 {d0-d1}, [%[x]]!\n\tvld1.32 {d2-d3}, [%[y]]!\n\t" LOAD_FIRST LOAD_SECOND
                   "subs %[n], %[n], #4\n\t" TAP("d0[0]", "d2[0]", LOAD_FIRST, LOAD_SECOND)
                       TAP("d0[1]", "d2[1]", LOAD_FIRST, LOAD_SECOND)
                           TAP("d1[0]", "d3[0]", LOAD_FIRST, LOAD_SECOND)
                               TAP("d1[1]", "d3[1]", , ) "bgt 1b"
                   : [a0] "+w"(a[0]), [a1] "+w"(a[1]), [a2] "+w"(a[2]), [a3] "+w"(a[3]),
                     [b0] "+w"(b[0]), [b1] "+w"(b[1]), [b2] "+w"(b[2]), [b3] "+w"(b[3]),
                     [x] "+r"(x), [y] "+r"(y), [w] "+r"(w), [n] "+r"(n)
                   : [rest] "r"(rest)
                   : "q0", "q1", "q8", "q9", "q10", "q11", "cc", "memory");
  return w;
}

#endif

static inline void vec_accumulate(vec *sum, vec a, vec b) { *sum = vec_madd(a, b, *sum); }

static inline __attribute__((always_inline)) void vec_accumulate_lane(vec *sum, vec a, vec b,
                                                                      const int lane)
{
  switch (lane) {
  case 0: ADD_PRODUCT(LANE_0); break;
  case 1: ADD_PRODUCT(LANE_1); break;
  case 2: ADD_PRODUCT(LANE_2); break;
  default: ADD_PRODUCT(LANE_3); break;
  }
}

/* Mask of a > b. On armv7 it is inline assembly, because the compiler would compare lane by lane to
 * respect denormals. */
static inline uint32x4_t vec_exceeds(vec a, vec b)
{
#ifdef __aarch64__
  return vcgtq_f32(a, b);
#else
  uint32x4_t exceeds;
  __asm__("vcgt.f32 %q0, %q1, %q2" : "=w"(exceeds) : "w"(a), "w"(b));
  return exceeds;
#endif
}

/* vmaxq_f32 and vminq_f32 cannot be used, because they return NaN if either operand is NaN. */
static inline vec vec_max(vec a, vec b) { return vbslq_f32(vec_exceeds(a, b), a, b); }
static inline vec vec_min(vec a, vec b) { return vbslq_f32(vec_exceeds(b, a), a, b); }
#define vec_larger vmaxq_f32

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

#ifdef __aarch64__
static inline vec vec_load_halves(const uint16_t *p)
{
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
#else
#include "runner/kernels/vector_halves.h"
#endif

static inline vec vec_load_bytes(const int8_t *p)
{
  uint32_t four;
  memcpy(&four, p, sizeof four);
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))))));
}

/* Each lane gets all four nibbles, shifts its own to the top, and back down with sign. */
static inline vec vec_load_nibbles(const uint8_t *p)
{
  const int32x4_t up = {28, 24, 20, 16};
  uint16_t four;
  memcpy(&four, p, sizeof four);
  return vcvtq_f32_s32(vshrq_n_s32(vshlq_s32(vdupq_n_s32(four), up), 28));
}

static inline vec vec_load_panel(const float *p, int n)
{
  (void)n;
  return vec_load(p);
}

#endif
