/* Integer vectors of eight lanes of 32 bits; ../integer_vector.h describes the functions. Products
 * are of pairs of 16-bit integers or, with INTEGER_VNNI, of groups of four bytes (quads). Included
 * by integer_avx2.c and integer_avxvnni.c. */
#include <immintrin.h>

#define IVEC_LANES 8
#define IVEC_VECTORS 2
typedef int32_t ivec __attribute__((vector_size(32)));
typedef float fvec __attribute__((vector_size(32)));

INLINE ivec ivec_load(const int32_t *p)
{
  return (ivec)_mm256_loadu_si256((const __m256i *)(const void *)p);
}
INLINE void ivec_store(int32_t *p, ivec v)
{
  _mm256_storeu_si256((__m256i *)(void *)p, (__m256i)v);
}
INLINE ivec ivec_load_n(const int32_t *p, int n)
{
  return n >= 8 ? ivec_load(p)
                : (ivec)_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}
INLINE void ivec_store_n(int32_t *p, ivec v, int n)
{
  if (n >= 8) ivec_store(p, v);
  else _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128((__m256i)v));
}
#define IVEC_ANY
INLINE bool ivec_any(ivec v) { return !_mm256_testz_si256((__m256i)v, (__m256i)v); }
INLINE ivec ivec_all(int32_t x) { return (ivec)_mm256_set1_epi32(x); }
INLINE ivec ivec_max(ivec a, ivec b) { return (ivec)_mm256_max_epi32((__m256i)a, (__m256i)b); }
INLINE ivec ivec_min(ivec a, ivec b) { return (ivec)_mm256_min_epi32((__m256i)a, (__m256i)b); }

INLINE ivec ivec_widen(const uint8_t *p, int n)
{
  uint64_t bytes = 0;
  if (n >= 8) memcpy(&bytes, p, 8);
  else
    for (int i = n; i-- > 0;) bytes = bytes << 8 | p[i];
  return (ivec)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
}

INLINE void ivec_narrow(uint8_t *p, ivec v, int n)
{
  __m128i low = _mm256_castsi256_si128((__m256i)v), high = _mm256_extracti128_si256((__m256i)v, 1);
  __m128i words = _mm_packus_epi32(low, high), bytes = _mm_packus_epi16(words, words);
  if (n >= 8) {
    _mm_storel_epi64((__m128i *)(void *)p, bytes);
    return;
  }
  uint64_t rest = (uint64_t)_mm_cvtsi128_si64(bytes);
  for (int i = 0; i < n; i++, rest >>= 8) p[i] = (uint8_t)rest;
}

INLINE ivec ivec_high(ivec a, ivec b)
{
  const __m256i half = _mm256_set1_epi64x(1 << 30);
  __m256i x = (__m256i)a, y = (__m256i)b;
  __m256i even = _mm256_add_epi64(_mm256_mul_epi32(x, y), half);
  __m256i odd =
      _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(y, 32)), half);
  return (ivec)_mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_add_epi64(odd, odd), 0xaa);
}

#define IVEC_SUMS
INLINE ivec ivec_sums(ivec a, ivec b, ivec even, ivec odd, const bool sign)
{
  const __m256i top = _mm256_set1_epi64x(INT64_C(1) << 31);
  __m256i x = (__m256i)a, y = (__m256i)b, x_odd = _mm256_srli_epi64(x, 32),
          y_odd = _mm256_srli_epi64(y, 32);
  __m256i low = _mm256_add_epi64(_mm256_mul_epi32(x, y), (__m256i)even);
  __m256i high = _mm256_add_epi64(_mm256_mul_epi32(x_odd, y_odd), (__m256i)odd);
  if (sign) {
    low = _mm256_sub_epi64(low, _mm256_and_si256(_mm256_xor_si256(x, y), top));
    high = _mm256_sub_epi64(high, _mm256_and_si256(_mm256_xor_si256(x_odd, y_odd), top));
  }
  return (ivec)_mm256_blend_epi32(_mm256_shuffle_epi32(low, 0xf5), high, 0xaa);
}

#define IVEC_NEAR
INLINE fvec fvec_fma(fvec a, fvec b, fvec c)
{
  return (fvec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
INLINE fvec fvec_less(fvec y, float limit)
{
  return (fvec)_mm256_min_ps((__m256)y, _mm256_set1_ps(limit));
}
INLINE ivec fvec_round(fvec y) { return (ivec)_mm256_cvtps_epi32((__m256)y); }
INLINE fvec fvec_rest(fvec rest, fvec y)
{
  __m256 by = _mm256_sub_ps((__m256)y, _mm256_round_ps((__m256)y, _MM_FROUND_TO_NEAREST_INT |
                                                                      _MM_FROUND_NO_EXC));
  return (fvec)_mm256_max_ps((__m256)rest, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), by));
}

INLINE bool fvec_beyond(fvec y, float limit)
{
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)y, _mm256_set1_ps(limit), _CMP_GT_OQ));
}

#define IVEC_NARROW_4
INLINE void ivec_narrow_4(uint8_t *p, size_t pixel, const ivec v[4], ivec least, ivec most)
{
  const __m256i in_turn = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i a = _mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]),
          b = _mm256_packs_epi32((__m256i)v[2], (__m256i)v[3]);
  __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), in_turn);
  bytes = _mm256_max_epu8(bytes, (__m256i)least);
  bytes = _mm256_min_epu8(bytes, (__m256i)most);
  __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
  _mm_storel_epi64((__m128i *)(void *)p, low);
  _mm_storeh_pi((__m64 *)(void *)(p + pixel), _mm_castsi128_ps(low));
  _mm_storel_epi64((__m128i *)(void *)(p + 2 * pixel), high);
  _mm_storeh_pi((__m64 *)(void *)(p + 3 * pixel), _mm_castsi128_ps(high));
}

#define IVEC_NEAREST
INLINE ivec ivec_nearest(fvec y, fvec least, fvec most)
{
  return (ivec)_mm256_cvtps_epi32(
      _mm256_min_ps(_mm256_max_ps((__m256)y, (__m256)least), (__m256)most));
}

INLINE ivec ivec_logical(ivec v, ivec n) { return (ivec)_mm256_srlv_epi32((__m256i)v, (__m256i)n); }

/* Loads n bytes. If n is 5 to 7, it may read up to 3 more. */
INLINE __m128i ivec_bytes(const uint8_t *p, int n)
{
  int32_t four;
  if (n > 4) return _mm_loadl_epi64((const __m128i *)(const void *)p);
  memcpy(&four, p, 4);
  return _mm_cvtsi32_si128(four);
}

#define IVEC_ROWS 2
INLINE ivec ivec_column(const uint8_t *const *rows, size_t at, const int n_rows, int n)
{
  if (n_rows == 1) return (ivec)_mm256_cvtepu8_epi32(ivec_bytes(rows[0] + at, n));
  return (ivec)_mm256_cvtepu8_epi16(
      _mm_unpacklo_epi8(ivec_bytes(rows[0] + at, n), ivec_bytes(rows[1] + at, n)));
}
INLINE ivec ivec_taps(ivec sum, ivec x, ivec w)
{
  return (ivec)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)x, (__m256i)w));
}

/* Looks up sixteen entries of the table at a time. For indices of other entries, the shuffle gives
 * 0, because their highest bit is set. */
#define IVEC_TABLE 32
INLINE void ivec_table(const uint8_t *x, uint8_t *y, const uint8_t *table)
{
  const __m256i sixteen = _mm256_set1_epi8(16), beyond = _mm256_set1_epi8(0x80 - 16);
  __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)x), found = _mm256_setzero_si256();
  for (const uint8_t *part = table; part < table + 256; part += 16) {
    __m256i entries =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)part));
    found = _mm256_or_si256(found, _mm256_shuffle_epi8(entries, _mm256_adds_epu8(at, beyond)));
    at = _mm256_sub_epi8(at, sixteen);
  }
  _mm256_storeu_si256((__m256i *)(void *)y, found);
}

/* This level adds the sum of two quads to the lane of the first one; the caller adds up the lanes
 * of a pixel anyway. */
INLINE ivec ivec_add_quads(ivec sum, const uint8_t *p)
{
  const __m256i eights =
      _mm256_sad_epu8(_mm256_loadu_si256((const __m256i *)(const void *)p), _mm256_setzero_si256());
  return (ivec)_mm256_add_epi32((__m256i)sum, eights);
}

#ifdef INTEGER_VNNI
#define IVEC_PIXELS 6 /* twelve sums, two weights, an input: 15 of 16 registers */
typedef __m256i iweights, iinput;

INLINE iweights iweights_load(const int8_t *p, int n)
{
  (void)n;
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
INLINE iinput iinput_load(const uint8_t *p)
{
  int32_t quad;
  memcpy(&quad, p, 4);
  return _mm256_set1_epi32(quad);
}
INLINE ivec ivec_dot(ivec sum, iinput x, iweights w)
{
  return (ivec)_mm256_dpbusd_avx_epi32((__m256i)sum, x, w);
}
#else
#define IVEC_PIXELS 4 /* eight sums, four weights, two inputs and a product */
/* Channels 0 and 2 (even), and channels 1 and 3 (odd) of each quad, as 16 bits. */
typedef struct {
  __m256i even, odd;
} iweights, iinput;

INLINE iweights iweights_load(const int8_t *p, int n)
{
  (void)n;
  __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)p);
  return (iweights){_mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8), _mm256_srai_epi16(w, 8)};
}
INLINE iinput iinput_load(const uint8_t *p)
{
  int32_t quad;
  memcpy(&quad, p, 4);
  __m256i x = _mm256_set1_epi32(quad);
  return (iinput){_mm256_and_si256(x, _mm256_set1_epi16(255)), _mm256_srli_epi16(x, 8)};
}
INLINE ivec ivec_dot(ivec sum, iinput x, iweights w)
{
  __m256i even = _mm256_add_epi32((__m256i)sum, _mm256_madd_epi16(x.even, w.even));
  return (ivec)_mm256_add_epi32(even, _mm256_madd_epi16(x.odd, w.odd));
}

/* Multiplies quads of bytes. The sum of two neighboring products fits 16 bits if the weights have
 * different signs, or if their magnitudes add up to at most 128; inputs are at most 255. */
#define IVEC_FITS
typedef __m256i ibytes;
INLINE ibytes ibytes_load(const int8_t *p)
{
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
INLINE ibytes ibytes_input(const uint8_t *p)
{
  int32_t quad;
  memcpy(&quad, p, 4);
  return _mm256_set1_epi32(quad);
}
/* Range of each pair's products, as magnitudes of weights: the sum of its non-negative weights, and
 * minus the sum of its negative weights. */
INLINE ibytes ibytes_reach(ibytes w)
{
  const __m256i above = _mm256_max_epi8(w, _mm256_setzero_si256()),
                below = _mm256_sub_epi8(above, w), ones = _mm256_set1_epi8(1);
  return _mm256_packus_epi16(_mm256_maddubs_epi16(above, ones), _mm256_maddubs_epi16(below, ones));
}
INLINE ibytes ibytes_both(ibytes a, ibytes b) { return _mm256_adds_epu8(a, b); }
INLINE bool ibytes_fit(ibytes reach)
{
  const __m256i beyond = _mm256_subs_epu8(reach, _mm256_set1_epi8((char)128));
  return _mm256_testz_si256(beyond, beyond);
}
/* Returns the argument `ones` of ibytes_sum. The empty assembly makes compilers keep it in a
 * register, but only in the inner loop. */
INLINE ibytes ibytes_ones(void)
{
  __m256i ones = _mm256_set1_epi16(1);
  __asm__("" : "+x"(ones));
  return ones;
}
INLINE ibytes ibytes_products(ibytes x, ibytes w) { return _mm256_maddubs_epi16(x, w); }
INLINE ibytes ibytes_add(ibytes a, ibytes b) { return _mm256_add_epi16(a, b); }
INLINE ivec ibytes_sum(ivec sum, ibytes products, ibytes ones)
{
  return (ivec)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16(products, ones));
}
/* The next three functions take the even or the odd channels of a quad, as 16 bits: of weights, of
 * inputs, and to add their products to a sum. */
INLINE ibytes ibytes_weights_half(ibytes w, const int odd)
{
  return _mm256_srai_epi16(odd ? w : _mm256_slli_epi16(w, 8), 8);
}
INLINE ibytes ibytes_input_half(ibytes x, const int odd)
{
  return odd ? _mm256_srli_epi16(x, 8) : _mm256_and_si256(x, _mm256_set1_epi16(255));
}
INLINE ivec ibytes_dot_half(ivec sum, ibytes x, ibytes w)
{
  return (ivec)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16(x, w));
}
#endif
