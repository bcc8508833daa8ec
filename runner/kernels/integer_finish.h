/* What sums become: rescaled in two roundings, shifted to the zero point, kept in bounds. Included by integer_bodies.h.
 *
 * First y = (x * multiplier + 2^30) >> 31, halves up; then y / 2^e, halves away from zero: with y - 1 for a negative y that is
 * ((y >> (e - 1)) + 1) >> 1, where nothing overflows. Where e is 0 all of it is left out by shifts of nothing.
 *
 * Where every e is 1 ... 22 both roundings and the zero point are one sum of 64 bits, x * multiplier + 2^30 + 2^(30 + e) +
 * zero * 2^(31 + e), less 2^31 for a negative x, of which the bits from 31 + e on are left. Where the least output is the zero
 * point, negative x come to it whatever is taken off. */

enum rescale_way { RESCALE_ANY, RESCALE_SUM, RESCALE_POSITIVE };

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
  int32_t lanes[IVEC_LANES];
  ivec_store(lanes, r->left);
  r->shifts_left = false;
  for (int i = 0; i < IVEC_LANES; i++) r->shifts_left |= lanes[i] > 0;
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

/* Of filters' sums, in whichever way `r` has them: for outputs of that zero point and those bounds. */
INLINE void rescale_choose(struct rescale *r, const struct mafat_quantization *q)
{
  r->way = RESCALE_ANY;
#ifdef IVEC_SUMS
  enum { MOST_SHIFT = 22 };
  int32_t multipliers[IVEC_LANES], shifts[IVEC_LANES];
  int64_t sums[2][IVEC_LANES / 2];
  ivec_store(multipliers, r->multiplier);
  ivec_store(shifts, r->right + r->one); /* e */
  for (int i = 0; i < IVEC_LANES; i++) {
    if (multipliers[i] == 0) shifts[i] = 1; /* 0 in any case */
    if (shifts[i] < 1 || shifts[i] > MOST_SHIFT) return;
    if (multipliers[i] < 0) return; /* products are negative where x is not */
    sums[i % 2][i / 2] = (INT64_C(1) << 30) + (INT64_C(1) << (30 + shifts[i])) + ((int64_t)q->zero << (31 + shifts[i]));
    shifts[i]--;
  }
  r->right = ivec_load(shifts);
  memcpy(&r->even, sums[0], sizeof r->even);
  memcpy(&r->odd, sums[1], sizeof r->odd);
  r->way = q->least >= q->zero ? RESCALE_POSITIVE : RESCALE_SUM;
#else
  (void)q;
#endif
}

/* Outputs of sums; the way is known to the compiler. */
INLINE ivec rescale_put(ivec x, const struct rescale *r, const struct bounds *b, const enum rescale_way way)
{
#ifdef IVEC_SUMS
  if (way != RESCALE_ANY) {
    const ivec y = ivec_sums(x, r->multiplier, r->even, r->odd, way == RESCALE_SUM) >> r->right;
    return ivec_min(ivec_max(y, b->lowest), b->highest);
  }
#endif
  (void)way;
  return bounds_put(rescale_vector(x, r), b);
}
