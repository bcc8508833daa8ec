/* What sums become: rescaled in two roundings, shifted to the zero point, kept in bounds. Included by integer_bodies.h.
 *
 * First y = (x * multiplier + 2^30) >> 31, halves up; then y / 2^e, halves away from zero: with y - 1 for a negative y that is
 * ((y >> (e - 1)) + 1) >> 1, where nothing overflows. Where e is 0 all of it is left out by shifts of nothing. */

/* Of as many filters as there are lanes. */
struct rescale {
  ivec multiplier;
  ivec left, least, most; /* shifts to the left, and what can be shifted so far */
  ivec negative;          /* 31, or 32 where nothing is divided */
  ivec right, one;        /* e - 1 and 1, or 0 and 0 */
  bool shifts_left;       /* some do */
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

/* An output's bounds, less its zero point: a sum of both could overflow. */
struct bounds {
  ivec least, most, zero;
};

INLINE struct bounds bounds_of(const struct mafat_quantization *q)
{
  return (struct bounds){ivec_all(q->least - q->zero), ivec_all(q->most - q->zero), ivec_all(q->zero)};
}

INLINE ivec bounds_put(ivec y, const struct bounds *b)
{
  return ivec_min(ivec_max(y, b->least), b->most) + b->zero;
}
