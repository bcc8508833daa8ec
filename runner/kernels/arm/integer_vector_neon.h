/* Integer vectors of four NEON lanes; interface in ../integer_vector.h. With INTEGER_DOT, quads
 * (four neighboring channels) of signed bytes are multiplied by one instruction: 128 is subtracted
 * from inputs, and sums begin with 128 times the sum of weights. Otherwise 16-bit values are
 * multiplied, one channel at a time. Included by integer_neon.c and integer_neondot.c. */
#include <arm_neon.h>

#define IVEC_LANES 4
typedef int32_t ivec __attribute__((vector_size(16)));
typedef float fvec __attribute__((vector_size(16)));

INLINE ivec ivec_load(const int32_t *p) { return (ivec)vld1q_s32(p); }
INLINE void ivec_store(int32_t *p, ivec v) { vst1q_s32(p, (int32x4_t)v); }
INLINE ivec ivec_load_n(const int32_t *p, int n) { (void)n; return ivec_load(p); }
INLINE void ivec_store_n(int32_t *p, ivec v, int n) { (void)n; ivec_store(p, v); }
INLINE ivec ivec_all(int32_t x) { return (ivec)vdupq_n_s32(x); }
INLINE ivec ivec_max(ivec a, ivec b) { return (ivec)vmaxq_s32((int32x4_t)a, (int32x4_t)b); }
INLINE ivec ivec_min(ivec a, ivec b) { return (ivec)vminq_s32((int32x4_t)a, (int32x4_t)b); }

INLINE uint16x4_t ivec_widen_16(const uint8_t *p, int n)
{
  uint32_t bytes = 0;
  if (n >= 4) memcpy(&bytes, p, 4);
  else
    for (int i = n; i-- > 0;) bytes = bytes << 8 | p[i];
  return vget_low_u16(vmovl_u8(vcreate_u8(bytes)));
}

INLINE ivec ivec_widen(const uint8_t *p, int n)
{
  return (ivec)vreinterpretq_s32_u32(vmovl_u16(ivec_widen_16(p, n)));
}

INLINE void ivec_narrow(uint8_t *p, ivec v, int n)
{
  uint16x4_t words = vqmovun_s32((int32x4_t)v);
  uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
  if (n >= 4) memcpy(p, &bytes, 4);
  else
    for (int i = 0; i < n; i++, bytes >>= 8) p[i] = (uint8_t)bytes;
}

INLINE ivec ivec_high(ivec a, ivec b) { return (ivec)vqrdmulhq_s32((int32x4_t)a, (int32x4_t)b); }

#ifdef __aarch64__
#define IVEC_NEAREST
/* A NaN (0 times an infinite factor) becomes the minimum, as at other levels. */
INLINE ivec ivec_nearest(fvec y, fvec least, fvec most)
{
  return (ivec)vcvtnq_s32_f32(
      vminq_f32(vmaxnmq_f32((float32x4_t)y, (float32x4_t)least), (float32x4_t)most));
}
#endif

INLINE ivec ivec_logical(ivec v, ivec n)
{
  return (ivec)vreinterpretq_s32_u32(
      vshlq_u32(vreinterpretq_u32_s32((int32x4_t)v), vnegq_s32((int32x4_t)n)));
}

INLINE ivec ivec_taps(ivec sum, ivec x, ivec w)
{
  return sum + ((x << 16) >> 16) * ((w << 16) >> 16) + (x >> 16) * (w >> 16);
}

INLINE ivec ivec_add_quads(ivec sum, const uint8_t *p)
{
  return (ivec)vreinterpretq_s32_u32(
      vpadalq_u16(vreinterpretq_u32_s32((int32x4_t)sum), vpaddlq_u8(vld1q_u8(p))));
}

#ifdef INTEGER_DOT
#define IVEC_SIGNED
#define IVEC_PIXELS 6 /* 24 sums, four weights, an input: 29 of 32 registers */
#define IVEC_VECTORS 4
typedef int8x16_t iweights, iinput;

INLINE iweights iweights_load(const int8_t *p, int n) { (void)n; return vld1q_s8(p); }
INLINE iinput iinput_load(const uint8_t *p)
{
  uint32_t quad;
  memcpy(&quad, p, 4);
  return vreinterpretq_s8_u32(vdupq_n_u32(quad ^ 0x80808080u));
}
INLINE ivec ivec_dot(ivec sum, iinput x, iweights w)
{
  return (ivec)vdotq_s32((int32x4_t)sum, w, x);
}
#else
#ifdef __aarch64__
#define IVEC_PIXELS 6 /* twelve sums, eight weights, an input */
#else
#define IVEC_PIXELS 4 /* eight sums, four registers of weights, an input */
#endif
#define IVEC_VECTORS 2
typedef struct {
  int16x4_t of[4]; /* by channel */
} iweights;
typedef int16x4_t iinput;

INLINE iweights iweights_load(const int8_t *p, int n)
{
  (void)n;
  const int8x16_t w = vld1q_s8(p);
  const int16x8x2_t apart = vuzpq_s16(vmovl_s8(vget_low_s8(w)), vmovl_s8(vget_high_s8(w)));
  const int16x8x2_t even = vuzpq_s16(apart.val[0], apart.val[0]),
                    odd = vuzpq_s16(apart.val[1], apart.val[1]);
  return (iweights){{vget_low_s16(even.val[0]), vget_low_s16(odd.val[0]), vget_low_s16(even.val[1]),
                     vget_low_s16(odd.val[1])}};
}
INLINE iinput iinput_load(const uint8_t *p) { return vreinterpret_s16_u16(ivec_widen_16(p, 4)); }
INLINE ivec ivec_dot(ivec sum, iinput x, iweights w)
{
  int32x4_t y = vmlal_lane_s16((int32x4_t)sum, w.of[0], x, 0);
  y = vmlal_lane_s16(y, w.of[1], x, 1);
  y = vmlal_lane_s16(y, w.of[2], x, 2);
  return (ivec)vmlal_lane_s16(y, w.of[3], x, 3);
}
#endif
