/* Vector operations of the integer kernels. A level's header (integer_vector_portable.h, x86/,
 * arm/) defines the vector type `ivec` of IVEC_LANES int32_t, with + - * & | and shifts, and the
 * operations below. "If X" means that only levels that define X have the operation.
 *
 *   ivec_load(p), ivec_store(p, v)    all lanes
 *   ivec_load_n(p, n), ivec_store_n   the first n lanes, a multiple of 4; other lanes are loaded as
 *                                     0 and not stored
 *   ivec_widen(p, n)                  n bytes, 1 ... IVEC_LANES, as lanes; others undefined
 *   ivec_narrow(p, v, n)              the first n lanes, 0 ... 255, as bytes
 *   ivec_max, ivec_min, ivec_all(x)
 *   ivec_any(v)                       true if a lane is not 0; defined here unless IVEC_ANY
 *   ivec_high(a, b)                   (a * b + 2^30) >> 31, b not negative
 *   fvec                              vector type of IVEC_LANES floats
 *   ivec_nearest(y, least, most)      y clamped to least ... most, which are integers below 2^21,
 *                                     and rounded, ties to even
 *   ivec_sums(a, b, even, odd, sign)  (a * b + even) >> 32 in even lanes and (a * b + odd) >> 32 in
 *                                     odd lanes; even and odd are vectors of 64-bit integers. sign:
 *                                     2^31 is subtracted from a negative product. If IVEC_SUMS
 *   fvec_fma(a, b, c), fvec_less(y, limit) (the smaller), fvec_round(y) (to nearest),
 *   fvec_rest(rest, y)                the larger of rest and the rounding error of y,
 *   fvec_beyond(y, limit)             true if a lane is larger. If IVEC_NEAR
 *   ivec_narrow_4(p, pixel, v, l, m)  stores four vectors as pixels of bytes, clamped to bytes
 *                                     between l and m; pixels are `pixel` bytes apart
 *   ivec_quarters(rows, at, n, of)    loads n (4 or 2) pixels of 16 bytes from each of three rows,
 *                                     and combines each channel's three bytes and a 0 to a quad.
 *                                     of[i] has quarter i of the channels, [pixel][channel]. If
 *                                     IVEC_QUARTERS
 *   ivec_shift(a, b, n)               pixels n ... n + 3 (n: 0 to 2) of eight: four in a, four in b
 *   ivec_repeat(v, i)                 quarter i of v's lanes, for each pixel
 *   ivec_narrow_quarters(p, pixel, v, l, m)   like ivec_narrow_4, for quarters of the channels
 *   ivec_logical(v, n)                logical right shift by 0 ... 32, per lane
 *
 *   IVEC_ROWS                         rows of a depthwise window multiplied together: 2 or 4
 *   ivec_column(rows, at, r, n)       in lane i, the bytes at `at` + i of the first r rows,
 *                                     combined in one integer; n lanes or all
 *   ivec_taps(sum, x, w)              adds to each lane of sum its products of inputs (x, combined
 *                                     by ivec_column) and weights (w, combined in the same way): of
 *                                     4 bytes if IVEC_ROWS is 4, of 2 halves of 16 bits if it is 2
 *
 *   ivec_table(x, y, table)           y[i] = table[x[i]] for IVEC_TABLE bytes, with 256 entries. If
 *                                     IVEC_TABLE is defined
 *   ivec_tables(x, y, n, table, lanes)   y[i] = table[x[i]] for those of n bytes for which bit
 *                                     i % 64 of `lanes` is set. If IVEC_TABLES and
 *                                     ivec_has_tables()
 *
 *   ivec_add_quads(sum, p)            adds the sum of four consecutive bytes to each lane
 *
 * Quads are four channels of an input and of each filter in a vector:
 *
 *   iweights, iweights_load(p, n)     [filter][4] signed bytes of n filters: a multiple of 8, or
 *                                     all lanes
 *   iinput, iinput_load(p)            four unsigned bytes
 *   ivec_dot(sum, x, w)               sum + the four products
 *   IVEC_PIXELS, IVEC_VECTORS         most pixels and vectors of filters of a tile
 *   IVEC_SIGNED                       defined if ivec_dot multiplies x - 128 instead of x
 *
 * If IVEC_FITS, products of quads are summed in pairs of 16 bits where they fit (integer_sorted.h):
 *
 *   ibytes_load(p), ibytes_input(p)   weights of all lanes; one input for all lanes
 *   ibytes_reach(w)                   range of the pair sums of a quad, for any inputs
 *   ibytes_both(a, b)                 range of the sums of two quads' pair sums
 *   ibytes_fit(reach)                 true if all pair sums in the range fit 16 bits
 *   ibytes_products(x, w), ibytes_add(a, b)   pair sums, if they fit; sum of two vectors of them
 *   ibytes_ones(), ibytes_sum(sum, p, ones)   sum + both pair sums of each quad
 *   ibytes_weights_half(w, odd), ibytes_input_half(x, odd), ibytes_dot_half(sum, x, w)
 *                                     for quads that do not fit: channels 0 and 2, or 1 and 3 if
 *                                     `odd`, as 16 bits
 *
 * Included by integer_bodies.h. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_VECTOR_H
#define MAFAT_RUNNER_KERNELS_INTEGER_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* INTEGER_SMALL: the compiler chooses what to inline. With vectors in plain C, inlining everything
 * would make the code large and no faster. */
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
