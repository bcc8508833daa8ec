/* Vector operations of the integer kernels. A level's header (integer_vector_portable.h, x86/,
 * arm/) defines the vector type `ivec` of IVEC_LANES int32_t, with + - * & | and shifts, and:
 *
 *   ivec_load(p), ivec_store(p, v)    all lanes
 *   ivec_load_n(p, n), ivec_store_n   the first n lanes, a multiple of 4; others are 0 or unchanged
 *   ivec_widen(p, n)                  n bytes, 1 ... IVEC_LANES, as lanes; others undefined
 *   ivec_narrow(p, v, n)              the first n lanes, 0 ... 255, as bytes
 *   ivec_max, ivec_min, ivec_all(x)
 *   ivec_any(v)                       true if a lane is not 0; defined here unless IVEC_ANY
 *   ivec_high(a, b)                   (a * b + 2^30) >> 31, b not negative
 *   fvec                              as many floats
 *   ivec_nearest(y, least, most)      clamped to these integers below 2^21, rounded, ties to even
 *   ivec_sums(a, b, even, odd, sign)  (a * b + even or odd) >> 32 for even or odd lanes, where even
 *                                     and odd are 64-bit vectors; sign: minus 2^31 for a negative
 *                                     product. If IVEC_SUMS
 *   fvec_fma(a, b, c), fvec_less(y, limit) (the smaller), fvec_round(y) (to nearest),
 *   fvec_rest(rest, y)                the larger of rest and the rounding error of y,
 *   fvec_beyond(y, limit)             true if a lane is larger. If IVEC_NEAR
 *   ivec_narrow_4(p, pixel, v, l, m)  four pixels of all lanes, clamped to bytes between l and m
 *   ivec_quarters(rows, at, n, of)    quads of three rows and a 0, from n (4 or 2) pixels of 16
 *                                     bytes: of[i] has a quarter of the channels, [pixel][channel].
 *                                     If IVEC_QUARTERS
 *   ivec_shift(a, b, n)               pixels a, then b: four from the n-th on
 *   ivec_repeat(v, i)                 quarter i of v's lanes, for each pixel
 *   ivec_narrow_quarters(p, pixel, v, l, m)   like ivec_narrow_4, for quarters of the channels
 *   ivec_logical(v, n)                logical right shift by 0 ... 32, per lane
 *
 *   IVEC_ROWS                         rows of a depthwise window multiplied together: 2 or 4
 *   ivec_column(rows, at, r, n)       bytes of the first r rows combined per lane, n lanes or all
 *   ivec_taps(sum, x, w)              sum + such inputs times weights, combined bytes or halves
 *
 *   ivec_table(x, y, table)           IVEC_TABLE bytes y = table[x], table of 256. If defined
 *   ivec_tables(x, y, n, table, lanes)   n bytes; of each 64, those whose bits are set in `lanes`.
 *                                     If IVEC_TABLES and ivec_has_tables()
 *
 *   ivec_add_quads(sum, p)            adds the sum of four consecutive bytes to each lane
 *
 * Quads are four channels of an input and of each filter in a vector:
 *
 *   iweights, iweights_load(p, n)     [filter][4] signed bytes, n lanes, a multiple of 8 or all
 *   iinput, iinput_load(p)            four unsigned bytes
 *   ivec_dot(sum, x, w)               sum + the four products
 *   IVEC_PIXELS, IVEC_VECTORS         most pixels and vectors of filters of a tile
 *   IVEC_SIGNED                       ivec_dot uses x - 128
 *
 * If IVEC_FITS, products of quads are summed in pairs of 16 bits where they fit (integer_sorted.h):
 *
 *   ibytes_load(p), ibytes_input(p)   weights of all lanes; one input for all lanes
 *   ibytes_reach(w), ibytes_both(a, b)   range of products, and of two quads' together
 *   ibytes_fit(reach)                 true if all pairs fit
 *   ibytes_products(x, w), ibytes_add(a, b)   pair sums of products that fit; their sums
 *   ibytes_ones(), ibytes_sum(sum, p, ones)   sum + both pairs of each quad
 *   ibytes_weights_half(w, odd), ibytes_input_half(x, odd), ibytes_dot_half(sum, x, w)
 *                                     for others: channels 1 and 3, or 0 and 2
 *
 * Included by integer_bodies.h. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_VECTOR_H
#define MAFAT_RUNNER_KERNELS_INTEGER_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* INTEGER_SMALL: vectors in plain C are not inlined, which would make the code large and no
 * faster. */
#ifdef INTEGER_SMALL
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#include INTEGER_VECTOR

INLINE fvec fvec_of(ivec v) { return __builtin_convertvector(v, fvec); }
INLINE fvec fvec_all(float x) { return (fvec){0} + x; }

/* For arithmetic modulo 2^32, because signed overflow is undefined in C. */
typedef uint32_t ivec_unsigned __attribute__((vector_size(sizeof(ivec))));
INLINE ivec ivec_less(ivec a, ivec b) { return (ivec)((ivec_unsigned)a - (ivec_unsigned)b); }

#ifndef IVEC_ANY
INLINE bool ivec_any(ivec v)
{
  uint64_t halves[sizeof v / sizeof(uint64_t)], all = 0;
  memcpy(halves, &v, sizeof v);
  for (size_t i = 0; i < sizeof v / sizeof *halves; i++) all |= halves[i];
  return all;
}
#endif

#ifndef IVEC_NEAREST
/* adding 1.5 * 2^23 rounds to an integer */
INLINE ivec ivec_nearest(fvec y, fvec least, fvec most)
{
  const fvec magic = fvec_all(0x1.8p23f);
  y = (fvec)(((ivec)y & (y > least)) | ((ivec)least & ~(y > least)));
  y = (fvec)(((ivec)y & (y < most)) | ((ivec)most & ~(y < most)));
  return (ivec)(y + magic) - (ivec)magic;
}
#endif

#ifndef IVEC_ROWS
#define IVEC_ROWS 2
INLINE ivec ivec_column(const uint8_t *const *rows, size_t at, int n_rows, int n)
{
  n = n < IVEC_LANES ? n : IVEC_LANES;
  if (n_rows == 1) return ivec_widen(rows[0] + at, n);
  return ivec_widen(rows[0] + at, n) | ivec_widen(rows[1] + at, n) << 16;
}
#endif

#ifndef IVEC_NARROW_4
INLINE void ivec_narrow_4(uint8_t *p, size_t pixel, const ivec v[4], ivec least, ivec most)
{
  for (int i = 0; i < 4; i++, p += pixel)
    ivec_narrow(p, ivec_min(ivec_max(v[i], least & 255), most & 255), IVEC_LANES);
}
#endif

#endif
