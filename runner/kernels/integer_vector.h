/* The vector operations that the integer kernels are written on. A level's header (integer_vector_portable.h, x86/, arm/)
 * defines the compiler's vector type `ivec` of IVEC_LANES int32_t, which has + - * & | and shifts, and:
 *
 * ivec_load(p), ivec_store(p, v)      all lanes
 * ivec_load_n(p, n), ivec_store_n     the first n lanes, a multiple of 4; others are 0, or left alone
 * ivec_widen(p, n)                    n bytes, 1 ... IVEC_LANES, as lanes; others are anything
 * ivec_narrow(p, v, n)                the first n lanes, 0 ... 255, as bytes
 * ivec_max, ivec_min, ivec_all(x)
 * ivec_any(v)                         is one of them not 0? Here, where no level has its own: IVEC_ANY
 * ivec_high(a, b)                     (a * b + 2^30) >> 31, b not negative
 * fvec                                as many floats; ivec_nearest(y, least, most): kept between these, which are whole numbers of
 *                                     less than 2^21, rounded to the nearest, halves to the even number
 * ivec_sums(a, b, even, odd, sign)    (a * b + even or odd) >> 32, of lanes in turn, whose sums are vectors of 64 bits; with sign
 *                                     2^31 less for a negative product. Where there is one: IVEC_SUMS
 * fvec_fma(a, b, c), fvec_less(y, limit), the smaller, fvec_round(y), to the nearest, fvec_rest(rest, y): the larger of rest and what y is rounded by,
 *                                     fvec_beyond(y, limit): is one larger? Where there are these: IVEC_NEAR
 * ivec_narrow_4(p, pixel, v, l, m)    four pixels of all lanes, kept within bytes and between those of l and m
 * ivec_quarters(rows, at, n, of)      of three rows of four pixels, or two, of 16 bytes each, quads of these and a 0: of[i]: of a fourth of
 *                                     the channels, [pixel][channel]. Where there are these: IVEC_QUARTERS
 * ivec_shift(a, b, n)                 of pixels a, then b: four from the n-th on
 * ivec_repeat(v, i)                   a fourth of v's lanes, for each pixel
 * ivec_narrow_quarters(p, pixel, v, l, m)  as ivec_narrow_4, of fourths of the channels
 * ivec_logical(v, n)                  shifted right by 0 ... 32, lane by lane, zeros coming in
 *
 * IVEC_ROWS                           of a depthwise window, whose taps are multiplied together: 2 or 4
 * ivec_column(rows, at, r, n)         what lies there in the first r rows, n lanes, or all where these are fewer, side by side
 * ivec_taps(sum, x, w)                sum + such numbers times weights, which are bytes side by side, or halves
 *
 * ivec_table(x, y, table)             IVEC_TABLE bytes: y = table[x], of 256. Where there is one
 * ivec_tables(x, y, n, table, lanes)  n bytes, of each 64 those of whose lanes the bits are set, if ivec_has_tables(). Where there may be: IVEC_TABLES
 *
 * ivec_add_quads(sum, p)              each lane has the sum of the next four bytes added
 *
 * Quads: four channels of an input, and of as many filters as there are lanes.
 * iweights, iweights_load(p, n)       [filter][4] signed bytes of n lanes, a multiple of 8 or all
 * iinput, iinput_load(p)              four unsigned bytes
 * ivec_dot(sum, x, w)                 sum + the sum of the four products
 * IVEC_PIXELS, IVEC_VECTORS           of a tile: pixels at most, vectors of filters at most
 * IVEC_SIGNED                         ivec_dot takes x - 128 for x
 *
 * Quads whose products are summed in pairs of 16 bits where these have room (integer_sorted.h). Where there are: IVEC_FITS
 * ibytes_load(p), ibytes_input(p)     all lanes of weights; an input for all of them
 * ibytes_reach(w), ibytes_both(a, b)  how far their products reach, and those of two quads together
 * ibytes_fit(reach)                   do all pairs?
 * ibytes_products(x, w), ibytes_add(a, b)      of what fits; sums of pairs, and of these, which fit together
 * ibytes_ones(), ibytes_sum(sum, p, ones)      sum + those of both pairs of a quad
 * ibytes_weights_half(w, odd), ibytes_input_half(x, odd), ibytes_dot_half(sum, x, w)   of others: channels 1 and 3, or 0 and 2 */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_VECTOR_H
#define MAFAT_RUNNER_KERNELS_INTEGER_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Vectors of plain C are no quicker for being inlined, and large. */
#ifdef INTEGER_SMALL
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#include INTEGER_VECTOR

INLINE fvec fvec_of(ivec v) { return __builtin_convertvector(v, fvec); }
INLINE fvec fvec_all(float x) { return (fvec){0} + x; }

/* Modulo 2^32, which + and - of signed numbers are by their instructions alone. */
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
/* 1.5 * 2^23 more leaves no place for fractions. */
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
  for (int i = 0; i < 4; i++, p += pixel) ivec_narrow(p, ivec_min(ivec_max(v[i], least & 255), most & 255), IVEC_LANES);
}
#endif

#endif
