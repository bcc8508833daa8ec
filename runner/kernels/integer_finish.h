/* Requantization of sums: rescaling, zero point, bounds. Included by integer_bodies.h; called by
 * the kernels. Touches only its arguments.
 *
 * TFLite's rule rounds twice. First it computes y = (x * multiplier + 2^30) >> 31, which rounds
 * ties up. Then it divides y by 2^e, where e is the filter's right shift, and rounds ties away from
 * zero. For the division, the code subtracts 1 from a negative y, shifts it right by e - 1, and
 * halves the result, with ties up. Nothing overflows. For e = 0, the code shifts by 0 instead. This
 * is RESCALE_ANY, the exact rule for all shifts.
 *
 * RESCALE_SUMS: if every e is in 1 ... 22, one 64-bit sum does both roundings and adds the zero
 * point. Its terms are the product x * multiplier, 2^30, 2^(30 + e), zero * 2^(31 + e) and, if the
 * product is negative, -2^31. The result is this sum >> (31 + e). RESCALE_SUMS_POSITIVE: if the
 * output's minimum is the zero point, negative sums are clamped to it anyway, and 2^31 is not
 * subtracted.
 *
 * RESCALE_NEAR: otherwise both roundings are approximated by rounding x * factor once, after adding
 * 2^-(e + 1) away from zero if e > 0. In floats the error is below 2^-14 for values below 256, and
 * larger values are clamped. Only values within this error of a tie are computed by the exact rule.
 * RESCALE_POSITIVE: RESCALE_NEAR if the output's minimum is the zero point.
 *
 * RESCALE_EVEN: ONNX's rule converts the sum to float, multiplies it by a float factor and rounds
 * once. The bits of the factor are stored as the multiplier. Negative sums have their own factor,
 * whose bits are stored as the shift. RESCALE_EVEN_SMALL: if both factors are equal and below 1/2,
 * no product exceeds 2^30, and bytes are clamped instead of products. */

enum rescale_way {
  RESCALE_ANY, RESCALE_SUMS, RESCALE_SUMS_POSITIVE, RESCALE_NEAR, RESCALE_POSITIVE, RESCALE_EVEN,
  RESCALE_EVEN_SMALL
};

/* Constants of TFLite's rule for a vector of filters. */
struct rescale {
  ivec multiplier;
  /* left shifts, and the range of sums that can be shifted. If the multiplier is -2^31, `least` is
   * one higher, because the least sum would give 2^31, which the rule saturates */
  ivec left, least, most;
  ivec negative; /* logical right shift of y: 31 gives 1 if y is negative; 32 (if e is 0) gives 0 */
  ivec right, one;        /* e - 1 and 1; if e is 0, 0 and 0 */
  bool has_ends;          /* some sums may be outside least ... most */
};

static struct rescale rescale_of(ivec multiplier, ivec shift)
{
  const ivec zero = ivec_all(0), one = ivec_all(1), whole = multiplier == ivec_all(INT32_MIN);
  struct rescale r = {.multiplier = multiplier, .left = ivec_max(shift, zero)};
  r.most = ivec_all(INT32_MAX) >> r.left;
  r.least = ~r.most - whole;
  r.one = ivec_min(ivec_max(-shift, zero), one);
  r.right = ivec_max(-shift - one, zero);
  r.negative = ivec_all(32) - r.one;
  r.has_ends = ivec_any(r.left | whole);
  return r;
}

INLINE ivec rescale_vector(ivec x, const struct rescale *r)
{
  if (r->has_ends) x = ivec_min(ivec_max(x, r->least), r->most) << r->left;
  ivec y = ivec_high(x, r->multiplier);
  y = (y - ivec_logical(y, r->negative)) >> r->right;
  return (y >> r->one) + (y & r->one); /* (y + 1) >> 1 without overflow at 2^31 */
}

/* Bounds of an output. */
struct integer_bounds {
  /* least and most have the zero point subtracted: adding it before clamping could overflow */
  ivec least, most, zero;
  ivec lowest, highest;         /* the bounds themselves */
  ivec least_bytes, most_bytes; /* the bounds in every byte */
};

INLINE struct integer_bounds bounds_of(const struct mafat_quantization *q)
{
  return (struct integer_bounds){ivec_all(q->least - q->zero),
                                 ivec_all(q->most - q->zero), ivec_all(q->zero), ivec_all(q->least),
                                 ivec_all(q->most), ivec_all((int32_t)(q->least * 0x01010101u)),
                                 ivec_all((int32_t)(q->most * 0x01010101u))};
}

INLINE ivec bounds_put(ivec y, const struct integer_bounds *b)
{
  return ivec_min(ivec_max(y, b->least), b->most) + b->zero;
}

/* Clamps, rounds, and adds the zero point. */
INLINE ivec bounds_nearest(fvec y, const struct integer_bounds *b)
{
  return ivec_nearest(y, fvec_of(b->least), fvec_of(b->most)) + b->zero;
}

/* ---- sums of several pixels ---- */

/* Requantization of a vector of filters. */
struct finish {
  ivec multiplier, shift; /* RESCALE_EVEN: bits of the float factors; shift: for negative sums */
  union {
    struct {
      /* more: the 2^-(e + 1) that is added; 0 if e is not above 0. RESCALE_NEAR: `more` has the
       * factor's sign. RESCALE_POSITIVE: the zero point is added to `more` */
      fvec factor, more;
    };
    struct {
      ivec even, odd, right; /* RESCALE_SUMS: 64-bit summands for even and odd lanes; e - 1 */
    };
  };
  const struct integer_bounds *bounds; /* the call's bounds */
  enum rescale_way way;
};

#ifdef IVEC_SUMS
typedef int64_t lvec __attribute__((vector_size(sizeof(ivec))));

static void finish_sums(struct finish *f, const struct mafat_quantization *q)
{
  enum { MOST_SHIFT = 22 };
  /* where the multiplier is 0, the product is 0 for any e, so e is set to 1 */
  const ivec none = f->multiplier == 0, e = (-f->shift & ~none) | (none & 1);
  if (ivec_any((e < 1) | (e > MOST_SHIFT))) return;
  const lvec unit = (lvec){0} + ((INT64_C(1) << 30) + ((int64_t)q->zero << 31)),
             half = (lvec){0} + (INT64_C(1) << 30);
  f->even = (ivec)((unit << ((lvec)e & 63)) + half);
  f->odd = (ivec)((unit << ((lvec)e >> 32)) + half);
  f->right = e - 1;
  f->way = q->least >= q->zero ? RESCALE_SUMS_POSITIVE : RESCALE_SUMS;
}
#endif

#ifdef IVEC_NEAR
static void finish_near(struct finish *f, const struct mafat_quantization *q)
{
  const ivec e = -f->shift, divided = e > 0;
  f->factor = fvec_of(f->multiplier) * (fvec)((127 - 31 - e) << 23);
  f->more = (fvec)((127 - 1 - e) << 23 & divided);
  f->way =
      q->least >= q->zero && !ivec_any(~divided & f->multiplier) ? RESCALE_POSITIVE : RESCALE_NEAR;
  if (f->way == RESCALE_POSITIVE) f->more += fvec_of(f->bounds->zero);
  else f->more = (fvec)((ivec)f->more | (f->multiplier & INT32_MIN));
}
#endif

#ifdef IVEC_NEAR
static bool is_small(const struct finish *f)
{
  /* bits of non-negative floats are ordered like integers; negative floats are negative integers */
  const ivec half = (ivec)fvec_all(0.5f);
  return !ivec_any((f->multiplier != f->shift) | (f->multiplier < 0) | (f->multiplier >= half));
}
#endif

static void finish_choose(struct finish *f, ivec multiplier, ivec shift,
                          const struct mafat_quantization *q, const struct integer_bounds *bounds)
{
  f->multiplier = multiplier;
  f->shift = shift << 16 >> 16;
  f->bounds = bounds;
  f->way = q->rounding == MAFAT_REQUANTIZE_EVEN ? RESCALE_EVEN : RESCALE_ANY;
  if (f->way == RESCALE_EVEN) f->shift = shift | (multiplier & (shift == 0));
#ifdef IVEC_SUMS
  if (f->way == RESCALE_ANY) finish_sums(f, q);
#endif
#ifdef IVEC_NEAR
  if (f->way == RESCALE_ANY) finish_near(f, q);
  else if (f->way == RESCALE_EVEN && is_small(f)) f->way = RESCALE_EVEN_SMALL;
#endif
}

INLINE ivec finish_even(ivec x, const struct finish *f)
{
  const ivec negative = x >> 31;
  return bounds_nearest(fvec_of(x) * (fvec)((f->shift & negative) | (f->multiplier & ~negative)),
                        f->bounds);
}

/* Requantizes n pixels by the exact rule, or by ONNX's. */
static void finish_any(const struct finish *f, const int32_t *sums, size_t pitch, uint8_t *to,
                       size_t pixel, int n, int lanes)
{
  const struct rescale rescale = rescale_of(f->multiplier, f->shift);
  for (int p = 0; p < n; p++, sums += pitch, to += pixel) {
    const ivec x = ivec_load(sums);
    const ivec y = f->way == RESCALE_EVEN ? finish_even(x, f)
                                          : bounds_put(rescale_vector(x, &rescale), f->bounds);
    ivec_narrow(to, y, lanes);
  }
}

/* True for the ways that never need the exact rule in addition. */
INLINE bool finishes_alone(enum rescale_way way)
{
  return way == RESCALE_EVEN || way == RESCALE_EVEN_SMALL || way == RESCALE_SUMS ||
         way == RESCALE_SUMS_POSITIVE;
}

/* Requantizes one vector; values outside a byte are clamped later. */
INLINE ivec finish_alone(ivec x, const struct finish *f, const enum rescale_way way)
{
#ifdef IVEC_SUMS
  if (way == RESCALE_SUMS_POSITIVE)
    return ivec_sums(x, f->multiplier, f->even, f->odd, false) >> f->right;
  if (way == RESCALE_SUMS) return ivec_sums(x, f->multiplier, f->even, f->odd, true) >> f->right;
#endif
#ifdef IVEC_NEAR
  if (way == RESCALE_EVEN_SMALL)
    return fvec_round(fvec_of(x) * (fvec)f->multiplier) + f->bounds->zero;
#endif
  (void)way;
  return finish_even(x, f);
}

INLINE void finish_four_alone(const struct finish *f, const int32_t *sums, size_t pitch, ivec y[4],
                              const enum rescale_way way)
{
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) y[i] = finish_alone(ivec_load(sums + (size_t)i * pitch), f, way);
}

/* Requantizes four pixels; values outside a byte are clamped later. False: the exact rule is
 * needed. */
INLINE bool finish_four(const struct finish *f, const int32_t *sums, size_t pitch, ivec y[4])
{
  if (f->way == RESCALE_EVEN) finish_four_alone(f, sums, pitch, y, RESCALE_EVEN);
  else if (f->way == RESCALE_EVEN_SMALL) finish_four_alone(f, sums, pitch, y, RESCALE_EVEN_SMALL);
  else if (f->way == RESCALE_SUMS) finish_four_alone(f, sums, pitch, y, RESCALE_SUMS);
  else if (f->way == RESCALE_SUMS_POSITIVE)
    finish_four_alone(f, sums, pitch, y, RESCALE_SUMS_POSITIVE);
  if (finishes_alone(f->way)) return true;
#ifdef IVEC_NEAR
  fvec rest = fvec_all(0), near;
  if (f->way == RESCALE_POSITIVE) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      near = fvec_fma(fvec_of(ivec_load(sums + (size_t)i * pitch)), f->factor, f->more);
      rest = fvec_rest(rest, near);
      y[i] = fvec_round(near);
    }
    return !fvec_beyond(rest, 0.5f - 0x1p-14f);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const ivec x = ivec_load(sums + (size_t)i * pitch);
    near = fvec_fma(fvec_of(x), f->factor, (fvec)((x & INT32_MIN) ^ (ivec)f->more));
    rest = fvec_rest(rest, near);
    y[i] = fvec_round(fvec_less(near, 0x1p30f)) + f->bounds->zero;
  }
  return !fvec_beyond(rest, 0.5f - 0x1p-14f);
#else
  return false;
#endif
}

/* Requantizes n pixels, at least four, four at a time. If n is not a multiple of four, some pixels
 * are computed twice. */
INLINE void finish_fours(const struct finish *of, const int32_t *sums, size_t pitch, uint8_t *to,
                         size_t pixel, int n, int lanes)
{
  const struct integer_bounds bounds = *of->bounds; /* a local copy, which stores cannot alias */
  struct finish local = *of, *f = &local;
  local.bounds = &bounds;
  for (int step;; n -= step, sums += (size_t)step * pitch, to += (size_t)step * pixel) {
    ivec y[4];
    step = mafat_min(4, n - 4);
    if (!finish_four(f, sums, pitch, y)) {
      finish_any(of, sums, pitch, to, pixel, 4, lanes);
    } else if (lanes >= IVEC_LANES) {
      ivec_narrow_4(to, pixel, y, f->bounds->least_bytes, f->bounds->most_bytes);
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++)
        ivec_narrow(to + (size_t)i * pixel,
                    ivec_min(ivec_max(y[i], f->bounds->lowest), f->bounds->highest), lanes);
    }
    if (n <= 4) break;
  }
}

/* Requantizes fewer than four pixels. */
static void finish_few(const struct finish *f, const int32_t *sums, size_t pitch, uint8_t *to,
                       size_t pixel, int n, int lanes)
{
  int32_t four[4 * IVEC_LANES];
  ivec y[4];
  for (int i = 0; i < 4; i++)
    ivec_store(four + i * IVEC_LANES, ivec_load(sums + (size_t)(i < n ? i : 0) * pitch));
  if (!finish_four(f, four, IVEC_LANES, y)) finish_any(f, sums, pitch, to, pixel, n, lanes);
  else
    for (int i = 0; i < n; i++, to += pixel)
      ivec_narrow(to, ivec_min(ivec_max(y[i], f->bounds->lowest), f->bounds->highest), lanes);
}

/* Requantizes n pixels with `lanes` channels each. Sums of neighboring pixels are `pitch` elements
 * apart. */
static void finish_pixels(const struct finish *f, const int32_t *sums, size_t pitch, uint8_t *to,
                          size_t pixel, int n, int lanes)
{
  if (n < 4) finish_few(f, sums, pitch, to, pixel, n, lanes);
  else if (lanes >= IVEC_LANES) finish_fours(f, sums, pitch, to, pixel, n, IVEC_LANES);
  else finish_fours(f, sums, pitch, to, pixel, n, lanes);
}

/* Copies n pixels of `lanes` bytes, 1 to 16. Pixels are to_pixel and from_pixel bytes apart. */
static void copy_pixels(uint8_t *to, size_t to_pixel, const uint8_t *from, size_t from_pixel, int n,
                        int lanes)
{
  if (to_pixel == from_pixel && lanes == (int)from_pixel) {
    memcpy(to, from, (size_t)n * from_pixel);
    return;
  }
  for (; n > 0; n--, to += to_pixel, from += from_pixel)
    if (lanes == IVEC_LANES) memcpy(to, from, IVEC_LANES);
    else if (lanes == MAFAT_CHANNEL_BLOCK) memcpy(to, from, MAFAT_CHANNEL_BLOCK);
    else memcpy(to, from, (size_t)lanes);
}
