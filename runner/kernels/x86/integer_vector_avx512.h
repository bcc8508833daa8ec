/* Integer vectors of sixteen lanes with masks; interface in ../integer_vector.h. With INTEGER_VNNI
 * an instruction sums four products of bytes (a quad), else two products of 16-bit values. Included
 * by integer_avx512.c and integer_avx512vnni.c. */
#include <immintrin.h>

#define IVEC_LANES 16
#define IVEC_VECTORS 2
typedef int32_t ivec __attribute__((vector_size(64)));
typedef float fvec __attribute__((vector_size(64)));

INLINE __mmask16 ivec_mask(int n) { return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1u); }
INLINE ivec ivec_load(const int32_t *p) { return (ivec)_mm512_loadu_si512(p); }
INLINE void ivec_store(int32_t *p, ivec v) { _mm512_storeu_si512(p, (__m512i)v); }
INLINE ivec ivec_load_n(const int32_t *p, int n)
{
  return (ivec)_mm512_maskz_loadu_epi32(ivec_mask(n), p);
}
INLINE void ivec_store_n(int32_t *p, ivec v, int n)
{
  if (n >= 16) ivec_store(p, v); /* masked stores are slow */
  else _mm512_mask_storeu_epi32(p, ivec_mask(n), (__m512i)v);
}
#define IVEC_ANY
INLINE bool ivec_any(ivec v) { return _mm512_test_epi32_mask((__m512i)v, (__m512i)v); }
INLINE ivec ivec_all(int32_t x) { return (ivec)_mm512_set1_epi32(x); }
INLINE ivec ivec_max(ivec a, ivec b) { return (ivec)_mm512_max_epi32((__m512i)a, (__m512i)b); }
INLINE ivec ivec_min(ivec a, ivec b) { return (ivec)_mm512_min_epi32((__m512i)a, (__m512i)b); }

INLINE ivec ivec_widen(const uint8_t *p, int n)
{
  __m128i bytes = n >= 16 ? _mm_loadu_si128((const __m128i *)(const void *)p)
                          : _mm_maskz_loadu_epi8(ivec_mask(n), p);
  return (ivec)_mm512_cvtepu8_epi32(bytes);
}

INLINE void ivec_narrow(uint8_t *p, ivec v, int n)
{
  __m128i bytes = _mm512_cvtepi32_epi8((__m512i)v);
  if (n >= 16) _mm_storeu_si128((__m128i *)(void *)p, bytes);
  else if (n == 8) _mm_storel_epi64((__m128i *)(void *)p, bytes);
  else _mm_mask_storeu_epi8(p, ivec_mask(n), bytes);
}

INLINE ivec ivec_high(ivec a, ivec b)
{
  const __m512i half = _mm512_set1_epi64(1 << 30);
  __m512i x = (__m512i)a, y = (__m512i)b;
  __m512i even = _mm512_add_epi64(_mm512_mul_epi32(x, y), half);
  __m512i odd =
      _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(y, 32)), half);
  return (ivec)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31),
                                       _mm512_add_epi64(odd, odd));
}

#define IVEC_SUMS
INLINE ivec ivec_sums(ivec a, ivec b, ivec even, ivec odd, const bool sign)
{
  const __m512i top = _mm512_set1_epi64(INT64_C(1) << 31);
  __m512i x = (__m512i)a, y = (__m512i)b, x_odd = _mm512_srli_epi64(x, 32),
          y_odd = _mm512_srli_epi64(y, 32);
  __m512i low = _mm512_add_epi64(_mm512_mul_epi32(x, y), (__m512i)even);
  __m512i high = _mm512_add_epi64(_mm512_mul_epi32(x_odd, y_odd), (__m512i)odd);
  if (sign) {
    low = _mm512_sub_epi64(low, _mm512_and_si512(_mm512_xor_si512(x, y), top));
    high = _mm512_sub_epi64(high, _mm512_and_si512(_mm512_xor_si512(x_odd, y_odd), top));
  }
  return (ivec)_mm512_mask_shuffle_epi32(high, 0x5555, low, (_MM_PERM_ENUM)0xf5);
}

#define IVEC_NEAR
INLINE fvec fvec_fma(fvec a, fvec b, fvec c)
{
  return (fvec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
INLINE fvec fvec_less(fvec y, float limit)
{
  return (fvec)_mm512_min_ps((__m512)y, _mm512_set1_ps(limit));
}
INLINE ivec fvec_round(fvec y) { return (ivec)_mm512_cvtps_epi32((__m512)y); }
INLINE fvec fvec_rest(fvec rest, fvec y)
{
  __m512 by = _mm512_sub_ps((__m512)y, _mm512_roundscale_ps((__m512)y, _MM_FROUND_TO_NEAREST_INT |
                                                                           _MM_FROUND_NO_EXC));
  return (fvec)_mm512_max_ps((__m512)rest, _mm512_abs_ps(by));
}
INLINE bool fvec_beyond(fvec y, float limit)
{
  return _mm512_cmp_ps_mask((__m512)y, _mm512_set1_ps(limit), _CMP_GT_OQ);
}

INLINE void ivec_store_pixels(uint8_t *p, size_t pixel, __m512i bytes, __m512i least, __m512i most)
{
  bytes = _mm512_min_epu8(_mm512_max_epu8(bytes, least), most);
  if (pixel == 16) {
    _mm512_storeu_si512(p, bytes);
    return;
  }
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_castsi512_si128(bytes));
  _mm_storeu_si128((__m128i *)(void *)(p + pixel), _mm512_extracti32x4_epi32(bytes, 1));
  _mm_storeu_si128((__m128i *)(void *)(p + 2 * pixel), _mm512_extracti32x4_epi32(bytes, 2));
  _mm_storeu_si128((__m128i *)(void *)(p + 3 * pixel), _mm512_extracti32x4_epi32(bytes, 3));
}

#define IVEC_NARROW_4
INLINE void ivec_narrow_4(uint8_t *p, size_t pixel, const ivec v[4], ivec least, ivec most)
{
  const __m512i in_turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i a = _mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]),
          b = _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]);
  ivec_store_pixels(p, pixel, _mm512_permutexvar_epi32(in_turn, _mm512_packus_epi16(a, b)),
                    (__m512i)least, (__m512i)most);
}

#define IVEC_NEAREST
INLINE ivec ivec_nearest(fvec y, fvec least, fvec most)
{
  return (ivec)_mm512_cvtps_epi32(
      _mm512_min_ps(_mm512_max_ps((__m512)y, (__m512)least), (__m512)most));
}

INLINE ivec ivec_logical(ivec v, ivec n) { return (ivec)_mm512_srlv_epi32((__m512i)v, (__m512i)n); }

/* Loads a quad (four weights) of each of n filters; at a panel's end n may be half a vector. */
INLINE __m512i ivec_quads(const int8_t *p, int n)
{
  return n >= 16 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi32(ivec_mask(n), p);
}
INLINE __m512i ivec_quad(const uint8_t *p)
{
  int32_t quad;
  memcpy(&quad, p, 4);
  return _mm512_set1_epi32(quad);
}

/* y[i] = table[x[i]] for 64 bytes. Goes through the table in rows of sixteen entries, and selects
 * from each row the entries of those bytes whose upper four bits are the row's number. */
#define IVEC_TABLE 64
INLINE void ivec_table(const uint8_t *x, uint8_t *y, const uint8_t *table)
{
  const __m512i bytes = _mm512_loadu_si512(x), low = _mm512_set1_epi8(15);
  const __m512i at = _mm512_and_si512(bytes, low), row = _mm512_andnot_si512(low, bytes);
  __m512i found = _mm512_setzero_si512();
  for (int part = 0; part < 256; part += 16) {
    __m512i entries =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(table + part)));
    found = _mm512_mask_shuffle_epi8(
        found, _mm512_cmpeq_epi8_mask(row, _mm512_set1_epi8((char)part)), entries, at);
  }
  _mm512_storeu_si512(y, found);
}

#ifdef INTEGER_VNNI
/* Most processors with avx512 can look up a byte among 128 with one instruction. */
#define IVEC_TABLES
static inline bool ivec_has_tables(void) { return __builtin_cpu_supports("avx512vbmi"); }
__attribute__((target("avx512vbmi"))) static void ivec_tables(const uint8_t *x, uint8_t *y, int n,
                                                              const uint8_t *table, uint64_t lanes)
{
  const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
  const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
  for (; n > 0; n -= 64, x += 64, y += 64) {
    const __mmask64 there = n >= 64 ? lanes : lanes & ((UINT64_C(1) << n) - 1);
    const __m512i at = _mm512_maskz_loadu_epi8(there, x);
    const __m512i low = _mm512_permutex2var_epi8(a, at, b),
                  high = _mm512_permutex2var_epi8(c, at, d);
    const __m512i found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high);
    if (there == UINT64_MAX) _mm512_storeu_si512(y, found);
    else _mm512_mask_storeu_epi8(y, there, found);
  }
}
#endif

INLINE ivec ivec_add_quads(ivec sum, const uint8_t *p)
{
  __m512i pairs = _mm512_maddubs_epi16(_mm512_loadu_si512(p), _mm512_set1_epi8(1));
  return (ivec)_mm512_add_epi32((__m512i)sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

/* Loads n bytes, at most sixteen, in groups of four: one byte in each lane, shifted to byte number
 * `byte` of the lane. */
INLINE __m512i ivec_bytes(const uint8_t *p, int n, const int byte)
{
  const __mmask8 fours = (__mmask8)((1u << ((n + 3) / 4)) - 1);
  __m128i bytes =
      n >= 16 ? _mm_loadu_si128((const __m128i *)(const void *)p) : _mm_maskz_loadu_epi32(fours, p);
  const __m512i wide = _mm512_cvtepu8_epi32(bytes);
  return byte == 0 ? wide : _mm512_slli_epi32(wide, 8 * byte);
}

#ifdef INTEGER_VNNI
#define IVEC_ROWS 4
INLINE ivec ivec_column(const uint8_t *const *rows, size_t at, const int n_rows, int n)
{
  __m512i x = ivec_bytes(rows[0] + at, n, 0);
  if (n_rows == 1) return (ivec)x;
#pragma GCC unroll 4
  for (int r = 1; r < n_rows; r++) x = _mm512_or_si512(x, ivec_bytes(rows[r] + at, n, r));
  return (ivec)x;
}
INLINE ivec ivec_taps(ivec sum, ivec x, ivec w)
{
  return (ivec)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
}

#define IVEC_QUARTERS
INLINE ivec ivec_repeat(ivec v, const int quarter)
{
  const __m512i x = (__m512i)v;
  switch (quarter) {
  case 0: return (ivec)_mm512_shuffle_i32x4(x, x, 0x00);
  case 1: return (ivec)_mm512_shuffle_i32x4(x, x, 0x55);
  case 2: return (ivec)_mm512_shuffle_i32x4(x, x, 0xaa);
  default: return (ivec)_mm512_shuffle_i32x4(x, x, 0xff);
  }
}
INLINE ivec ivec_shift(ivec a, ivec b, const int quarters)
{
  if (quarters == 0) return a;
  return (ivec)(quarters == 1 ? _mm512_alignr_epi64((__m512i)b, (__m512i)a, 2)
                              : _mm512_alignr_epi64((__m512i)b, (__m512i)a, 4));
}
INLINE __m512i ivec_pixels(const uint8_t *p, const int n)
{
  return n > 2 ? _mm512_loadu_si512(p)
               : _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
INLINE void ivec_quarters(const uint8_t *const *rows, size_t at, const int n, ivec of[4])
{
  const __m512i a = ivec_pixels(rows[0] + at, n), b = ivec_pixels(rows[1] + at, n),
                c = ivec_pixels(rows[2] + at, n);
  const __m512i none = _mm512_setzero_si512(), low = _mm512_unpacklo_epi8(a, b),
                high = _mm512_unpackhi_epi8(a, b);
  const __m512i low_c = _mm512_unpacklo_epi8(c, none), high_c = _mm512_unpackhi_epi8(c, none);
  of[0] = (ivec)_mm512_unpacklo_epi16(low, low_c);
  of[1] = (ivec)_mm512_unpackhi_epi16(low, low_c);
  of[2] = (ivec)_mm512_unpacklo_epi16(high, high_c);
  of[3] = (ivec)_mm512_unpackhi_epi16(high, high_c);
}
INLINE void ivec_narrow_quarters(uint8_t *p, size_t pixel, const ivec v[4], ivec least, ivec most)
{
  const __m512i a = _mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]),
                b = _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]);
  ivec_store_pixels(p, pixel, _mm512_packus_epi16(a, b), (__m512i)least, (__m512i)most);
}
#else
#define IVEC_ROWS 2
INLINE ivec ivec_column(const uint8_t *const *rows, size_t at, const int n_rows, int n)
{
  if (n_rows == 1) return (ivec)ivec_bytes(rows[0] + at, n, 0);
  return (ivec)_mm512_or_si512(ivec_bytes(rows[0] + at, n, 0), ivec_bytes(rows[1] + at, n, 2));
}
INLINE ivec ivec_taps(ivec sum, ivec x, ivec w)
{
  return (ivec)_mm512_add_epi32((__m512i)sum, _mm512_madd_epi16((__m512i)x, (__m512i)w));
}
#endif

#ifdef INTEGER_VNNI
/* pixels of a register tile, which needs 31 of 32 registers: 28 sums, two weights, an input */
#define IVEC_PIXELS 14
typedef __m512i iweights, iinput;
INLINE iweights iweights_load(const int8_t *p, int n) { return ivec_quads(p, n); }
INLINE iinput iinput_load(const uint8_t *p) { return ivec_quad(p); }
INLINE ivec ivec_dot(ivec sum, iinput x, iweights w)
{
  return (ivec)_mm512_dpbusd_epi32((__m512i)sum, x, w);
}
#else
/* pixels of a register tile, which needs 31 of 32 registers: 24 sums, four weights, two inputs and
 * a product */
#define IVEC_PIXELS 12
/* Channels 0 and 2 (even), and channels 1 and 3 (odd) of each quad, as 16 bits. */
typedef struct {
  __m512i even, odd;
} iweights, iinput;
INLINE iweights iweights_load(const int8_t *p, int n)
{
  __m512i w = ivec_quads(p, n);
  return (iweights){_mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8), _mm512_srai_epi16(w, 8)};
}
INLINE iinput iinput_load(const uint8_t *p)
{
  __m512i x = ivec_quad(p);
  return (iinput){_mm512_and_si512(x, _mm512_set1_epi16(255)), _mm512_srli_epi16(x, 8)};
}
INLINE ivec ivec_dot(ivec sum, iinput x, iweights w)
{
  __m512i even = _mm512_add_epi32((__m512i)sum, _mm512_madd_epi16(x.even, w.even));
  return (ivec)_mm512_add_epi32(even, _mm512_madd_epi16(x.odd, w.odd));
}
#endif
