/* What sums become: rescaled, shifted to the zero point, kept in bounds. Included by integer_bodies.h.
 *
 * By TFLite's rule, in two roundings. First y = (x * multiplier + 2^30) >> 31, halves up; then y / 2^e, halves away from zero: with y - 1 for a negative y that is
 * ((y >> (e - 1)) + 1) >> 1, where nothing overflows. Where e is 0 all of it is left out by shifts of nothing.
 *
 * Where every e is 1 ... 22 both roundings and the zero point are one sum of 64 bits, x * multiplier + 2^30 + 2^(30 + e) +
 * zero * 2^(31 + e), less 2^31 for a negative x, of which the bits from 31 + e on are left. Where the least output is the zero
 * point, negative x come to it whatever is taken off.
 *
 * By ONNX's, MAFAT_REQUANTIZE_EVEN, in one: the sum as a float times a float, whose bits stand for the multiplier. */

enum rescale_way { RESCALE_ANY, RESCALE_SUM, RESCALE_POSITIVE, RESCALE_EVEN };

#ifdef IVEC_SUMS
typedef int64_t lvec __attribute__((vector_size(sizeof(ivec))));
#endif

/* Of as many filters as there are lanes. */
struct rescale {
  ivec multiplier;
  ivec left, least, most; /* shifts to the left, and what can be shifted so far */
  ivec negative;          /* 31, or 32 where nothing is divided */
  ivec right, one;        /* e - 1 and 1, or 0 and 0 */
  bool shifts_left;       /* some do */
  enum rescale_way way;
#ifdef IVEC_SUMS
  ivec even, odd;         /* what is added to products, of 64 bits each: RESCALE_SUM, _POSITIVE */
#endif
};

/* Is one of them not 0? */
INLINE bool lanes_any(ivec v)
{
  uint64_t halves[sizeof v / sizeof(uint64_t)], all = 0;
  memcpy(halves, &v, sizeof v);
  for (size_t i = 0; i < sizeof v / sizeof *halves; i++) all |= halves[i];
  return all;
}

INLINE void rescale_prepare(struct rescale *r, ivec multiplier, ivec shift)
{
  const ivec zero = ivec_all(0), one = ivec_all(1);
  r->multiplier = multiplier;
  r->left = ivec_max(shift, zero);
  r->most = ivec_all(INT32_MAX) >> r->left;
  r->least = ~r->most;
  r->one = ivec_min(ivec_max(-shift, zero), one);
  r->right = ivec_max(-shift - one, zero);
  r->negative = ivec_all(32) - r->one;
  r->shifts_left = lanes_any(r->left);
}

INLINE ivec rescale_vector(ivec x, const struct rescale *r)
{
  if (r->shifts_left) x = ivec_min(ivec_max(x, r->least), r->most) << r->left;
  ivec y = ivec_high(x, r->multiplier);
  y = (y - ivec_logical(y, r->negative)) >> r->right;
  return (y + r->one) >> r->one;
}

/* An output's bounds, and the same less its zero point: a sum of both could overflow. */
struct bounds {
  ivec least, most, zero, lowest, highest;
};

INLINE struct bounds bounds_of(const struct mafat_quantization *q)
{
  return (struct bounds){ivec_all(q->least - q->zero), ivec_all(q->most - q->zero), ivec_all(q->zero), ivec_all(q->least),
                         ivec_all(q->most)};
}

INLINE ivec bounds_put(ivec y, const struct bounds *b)
{
  return ivec_min(ivec_max(y, b->least), b->most) + b->zero;
}

#ifdef IVEC_SUMS
/* One sum of 64 bits, where every shift allows it. */
INLINE bool rescale_sums(struct rescale *r, ivec shift, const struct mafat_quantization *q)
{
  enum { MOST_SHIFT = 22 };
  const ivec one = ivec_all(1), none = (r->multiplier == 0); /* 0 in any case */
  const ivec turned = (r->multiplier < 0); /* products are negative where x is not */
  shift = (-shift & ~none) | (one & none); /* e */
  if (lanes_any((shift < 1) | (shift > MOST_SHIFT) | turned)) return false;
  const lvec unit = (lvec){0} + ((INT64_C(1) << 30) + ((int64_t)q->zero << 31)), half = (lvec){0} + (INT64_C(1) << 30);
  const lvec lanes = (lvec)shift;
  r->even = (ivec)((unit << (lanes & 63)) + half);
  r->odd = (ivec)((unit << (lanes >> 32)) + half);
  r->right = shift - one;
  r->way = q->least >= q->zero ? RESCALE_POSITIVE : RESCALE_SUM;
  return true;
}
#endif

/* Of filters' sums, in whichever way the filters have: for outputs of that zero point and those bounds. */
INLINE void rescale_choose(struct rescale *r, ivec multiplier, ivec shift, const struct mafat_quantization *q)
{
  shift = shift << 16 >> 16;
  r->multiplier = multiplier;
  r->way = RESCALE_EVEN;
  if (q->rounding == MAFAT_REQUANTIZE_EVEN) return;
#ifdef IVEC_SUMS
  if (rescale_sums(r, shift, q)) return;
#endif
  r->way = RESCALE_ANY;
  rescale_prepare(r, multiplier, shift);
}

/* Of what is left to be rounded. */
INLINE ivec bounds_nearest(fvec y, const struct bounds *b)
{
  return ivec_nearest(y, fvec_of(b->least), fvec_of(b->most)) + b->zero;
}

/* Outputs of sums; the way is known to the compiler. */
INLINE ivec rescale_put(ivec x, const struct rescale *r, const struct bounds *b, const enum rescale_way way)
{
  if (way == RESCALE_EVEN) return bounds_nearest(fvec_of(x) * (fvec)r->multiplier, b);
#ifdef IVEC_SUMS
  if (way != RESCALE_ANY) {
    const ivec y = ivec_sums(x, r->multiplier, r->even, r->odd, way == RESCALE_SUM) >> r->right;
    return ivec_min(ivec_max(y, b->lowest), b->highest);
  }
#endif
  (void)way;
  return bounds_put(rescale_vector(x, r), b);
}
