/* Convolution with quads (integer_conv.h) that are sorted by how many of them can be summed in 16
 * bits.
 *
 * If all pairs of products of a quad fit 16 bits (integer_vector.h: ibytes_fit), byte products are
 * summed in pairs, with half as many instructions as 16-bit products. If the sums of two or four
 * quads fit, too, these are widened to 32 bits together. Quads are sorted by this for each vector
 * of filters, once for many pixels, so that inner loops have no branches. The order does not change
 * integer sums.
 *
 * A tile is one vector of filters and up to ten pixels. Included by integer_conv.h if IVEC_FITS is
 * defined. Writes sums, and the sorted indices to the memory in struct conv_row or the call. */

/* How quads are added: four, two or one at a time in 16 bits, or one at a time in 32 bits. */
enum sorted_way { SORTED_FOURS, SORTED_TWOS, SORTED_ONES, SORTED_WIDE, SORTED_WAYS };

/* A vector of filters with sorted quads. */
struct sorted_vector {
  const struct integer_conv_runs *kinds;
  int n_kinds;
  const uint16_t *counts; /* [kind][way]: number of quads */
  const uint16_t *quads;  /* indices of the quads, by kind and way */
  const uint8_t *in;      /* address of the first run at column 0 */
  const int32_t *places;  /* [quad]: bytes from `in` */
  const int8_t *weights;
  size_t pitch;           /* bytes between weights of quads */
  const int32_t *bias;
};

/* Initializes the sums of P pixels, n lanes each, from `from` or the bias. */
INLINE void sorted_begin(ivec sum[SORTED_TILE], const int32_t *bias, const int32_t *from,
                         size_t pitch, int n, const int P)
{
  const ivec all = ivec_load_n(bias, n);
#pragma GCC unroll 16
  for (int p = 0; p < P; p++) sum[p] = from ? ivec_load_n(from + (size_t)p * pitch, n) : all;
}

/* Adds n quads, `together` at a time, to the sums of P pixels that are `step` bytes apart. Returns
 * the address after these quads. */
INLINE const uint16_t *sorted_add(const struct sorted_vector *v, const uint16_t *quads, int n,
                                  const uint8_t *in, size_t step, ivec sum[SORTED_TILE],
                                  ibytes ones, const int together, const int P)
{
  for (const uint16_t *end = quads + n; quads < end; quads += together) {
    ibytes w[4];
    ptrdiff_t place[4];
#pragma GCC unroll 4
    for (int i = 0; i < together; i++) {
      w[i] = ibytes_load(v->weights + quads[i] * v->pitch);
      place[i] = v->places[quads[i]];
    }
    const uint8_t *at = in;
#pragma GCC unroll 16
    for (int p = 0; p < P; p++, at += step) {
      ibytes products = ibytes_products(ibytes_input(at + place[0]), w[0]);
#pragma GCC unroll 4
      for (int i = 1; i < together; i++)
        products = ibytes_add(products, ibytes_products(ibytes_input(at + place[i]), w[i]));
      sum[p] = ibytes_sum(sum[p], products, ones);
    }
  }
  return quads;
}

/* Adds n quads whose products do not fit 16 bits. Returns the address after these quads. */
INLINE const uint16_t *sorted_add_wide(const struct sorted_vector *v, const uint16_t *quads, int n,
                                       const uint8_t *in, size_t step, ivec sum[SORTED_TILE],
                                       const int P)
{
  for (const uint16_t *end = quads + n; quads < end; quads++) {
    const ibytes w = ibytes_load(v->weights + *quads * v->pitch);
    const ibytes even = ibytes_weights_half(w, 0), odd = ibytes_weights_half(w, 1);
    const uint8_t *at = in + v->places[*quads];
#pragma GCC unroll 16
    for (int p = 0; p < P; p++, at += step) {
      const ibytes x = ibytes_input(at);
      sum[p] = ibytes_dot_half(ibytes_dot_half(sum[p], ibytes_input_half(x, 0), even),
                               ibytes_input_half(x, 1), odd);
    }
  }
  return quads;
}

INLINE void sorted_sum(const struct sorted_vector *v, ivec sum[SORTED_TILE], size_t col,
                       const int P)
{
  const ibytes ones = ibytes_ones();
  const uint16_t *quads = v->quads, *counts = v->counts;
  for (const struct integer_conv_runs *k = v->kinds; k < v->kinds + v->n_kinds;
       k++, counts += SORTED_WAYS) {
    const uint8_t *const in = v->in + col * k->step;
    quads = sorted_add(v, quads, counts[SORTED_FOURS], in, k->step, sum, ones, 4, P);
    quads = sorted_add(v, quads, counts[SORTED_TWOS], in, k->step, sum, ones, 2, P);
    quads = sorted_add(v, quads, counts[SORTED_ONES], in, k->step, sum, ones, 1, P);
    quads = sorted_add_wide(v, quads, counts[SORTED_WIDE], in, k->step, sum, P);
  }
}

/* Computes the sums of n neighboring tiles, `lanes` lanes each: begins with `from` or the bias, and
 * stores to `to`. */
INLINE void sorted_tiles(const struct sorted_vector *v, int col, int n, const int32_t *from,
                         int32_t *to, size_t pitch, int lanes, const int P)
{
  for (; n > 0; n--, col += P, to += (size_t)P * pitch) {
    ivec sum[SORTED_TILE];
    sorted_begin(sum, v->bias, from, pitch, lanes, P);
    sorted_sum(v, sum, (size_t)col, P);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) ivec_store_n(to + (size_t)p * pitch, sum[p], lanes);
    if (from) from += (size_t)P * pitch;
  }
}

typedef void (*sorted_function)(const struct sorted_vector *v, int col, int n, const int32_t *from,
                                int32_t *to, size_t pitch, int lanes);

#define SORTED(P) \
  static void sorted_##P(const struct sorted_vector *v, int col, int n, const int32_t *from, \
                         int32_t *to, size_t pitch, int lanes) \
  { \
    sorted_tiles(v, col, n, from, to, pitch, lanes, P); \
  }
SORTED(1)
SORTED(2) SORTED(3) SORTED(4) SORTED(5) SORTED(6) SORTED(7) SORTED(8) SORTED(9) SORTED(10)
    /* [pixels - 1] */
    static const sorted_function sorted_functions[SORTED_TILE] = {sorted_1, sorted_2, sorted_3,
                                                                  sorted_4, sorted_5, sorted_6,
                                                                  sorted_7, sorted_8, sorted_9,
                                                                  sorted_10};

/* Returns the counts, followed by the quads, of the vector that begins with filter `first` of the
 * panel. */
INLINE const uint16_t *sorted_counts(const struct conv_row *r, int first)
{
  return r->sorted +
         (size_t)((first - r->c->first) / IVEC_LANES) * (SORTED_COUNTS + r->list->end.quads);
}

/* Computes the tiles from `col` on for filters [first, first + lanes) of the panel. */
static void sorted_columns_of(const struct conv_row *r, struct conv_tiling t, int col, int first,
                              int lanes, const int32_t *from, int32_t *to, size_t pitch)
{
  const uint16_t *counts = sorted_counts(r, first);
  const int wide = t.n_wide * (t.pixels + 1);
  const size_t after = (size_t)wide * pitch;
  const struct sorted_vector v = {
      r->list->kinds, r->list->n_kinds, counts, counts + SORTED_COUNTS, r->list->in[0], r->places,
      r->c->weights + 4 * first, 4 * (size_t)r->c->width, r->c->to.bias + first};
  if (t.n_wide) sorted_functions[t.pixels](&v, col, t.n_wide, from, to, pitch, lanes);
  if (t.n)
    sorted_functions[t.pixels - 1](&v, col + wide, t.n, from ? from + after : NULL, to + after,
                                   pitch, lanes);
}

static void sorted_columns(const struct conv_row *r, struct conv_tiling t, int col,
                           const int32_t *from, int32_t *to, size_t pitch)
{
  for (int f = 0; f < r->n_filters; f += IVEC_LANES) {
    /* with this pitch there is memory for all lanes */
    const int lanes = pitch == TILE_LANES ? IVEC_LANES : mafat_min(r->n_filters - f, IVEC_LANES);
    sorted_columns_of(r, t, col, r->first + f, lanes, from ? from + f : NULL, to + f, pitch);
  }
}

/* Updates `places` for this row, if the distances between runs changed. */
static void sorted_follow(struct conv_row *r)
{
  bool far = false, moved = false;
  for (int i = 0; i < r->list->n_runs; i++) {
    const ptrdiff_t distance = (ptrdiff_t)((uintptr_t)r->list->in[i] - (uintptr_t)r->list->in[0]);
    moved |= distance != r->distances[i];
    far |= distance < INT32_MIN / 2 || distance > INT32_MAX / 2;
    r->distances[i] = distance;
  }
  r->follows = !far;
  if (!moved || far) return;
  int32_t *to = r->places;
  const ptrdiff_t *distance = r->distances;
  for (const struct integer_conv_runs *k = r->list->kinds; k < r->list->kinds + r->list->n_kinds;
       k++)
    for (int i = 0; i < k->n; i++, distance++)
      for (int q = 0; q < k->n_quads; q++) *to++ = (int32_t)*distance + 4 * q;
}

/* Lists into which the quads of one kind of runs are sorted. `fours` and `wide` share an array. */
struct sorting {
  uint16_t *fours; /* grows from the array's beginning */
  uint16_t *wide;  /* grows downward from its end */
  uint16_t twos[SORTED_QUADS], ones[SORTED_QUADS];
  int n_twos, n_ones;
};

static void sort_one(struct sorting *s, ibytes reach, int quad)
{
  if (ibytes_fit(reach)) s->ones[s->n_ones++] = (uint16_t)quad;
  else *--s->wide = (uint16_t)quad;
}

static void sort_two(struct sorting *s, ibytes first, ibytes second, int quad)
{
  if (!ibytes_fit(ibytes_both(first, second))) {
    sort_one(s, first, quad);
    sort_one(s, second, quad + 1);
    return;
  }
  s->twos[s->n_twos++] = (uint16_t)quad;
  s->twos[s->n_twos++] = (uint16_t)(quad + 1);
}

/* Sorts quads [quad, end), whose weights begin at w and are `pitch` apart. */
static void sort_neighbours(struct sorting *s, const int8_t *w, size_t pitch, int quad, int end)
{
  for (; quad + 4 <= end; quad += 4, w += 4 * pitch) {
    ibytes reach[4];
    for (int i = 0; i < 4; i++) reach[i] = ibytes_reach(ibytes_load(w + (size_t)i * pitch));
    if (ibytes_fit(ibytes_both(ibytes_both(reach[0], reach[1]), ibytes_both(reach[2], reach[3])))) {
      for (int i = 0; i < 4; i++) *s->fours++ = (uint16_t)(quad + i);
      continue;
    }
    sort_two(s, reach[0], reach[1], quad);
    sort_two(s, reach[2], reach[3], quad + 2);
  }
  for (; quad < end; quad++, w += pitch) sort_one(s, ibytes_reach(ibytes_load(w)), quad);
}

/* Sorts the quads of a vector of filters by kind of runs and way. Returns how many quads can be
 * summed in 16 bits. */
static int sort_vector(const struct conv_row *r, uint16_t *counts, const int8_t *weights)
{
  const size_t pitch = 4 * (size_t)r->c->width;
  uint16_t *to = counts + SORTED_COUNTS;
  int quad = 0, n_fit = 0;
  memset(counts, 0, SORTED_COUNTS * sizeof *counts);
  for (int k = 0; k < r->list->n_kinds; k++, counts += SORTED_WAYS) {
    const int n = r->list->kinds[k].n * r->list->kinds[k].n_quads;
    struct sorting s;
    s.fours = to;
    s.wide = to + n;
    s.n_twos = s.n_ones = 0;
    sort_neighbours(&s, weights + (size_t)quad * pitch, pitch, quad, quad + n);
    counts[SORTED_FOURS] = (uint16_t)(s.fours - to);
    counts[SORTED_TWOS] = (uint16_t)s.n_twos;
    counts[SORTED_ONES] = (uint16_t)s.n_ones;
    counts[SORTED_WIDE] = (uint16_t)(to + n - s.wide);
    memcpy(s.fours, s.twos, (size_t)s.n_twos * sizeof *to);
    memcpy(s.fours + s.n_twos, s.ones, (size_t)s.n_ones * sizeof *to);
    n_fit += n - counts[SORTED_WIDE];
    quad += n;
    to += n;
  }
  return n_fit;
}

/* Sorts the quads of all vectors. Returns false if so few can be summed in 16 bits that sorting
 * does not pay. */
static bool sort_vectors(struct conv_row *r, int end)
{
  size_t n_fit = 0, n = 0;
  for (int f = r->c->first; f < end; f += IVEC_LANES, n += r->list->end.quads) {
    uint16_t *counts = (uint16_t *)(uintptr_t)sorted_counts(r, f);
    n_fit += (size_t)sort_vector(r, counts, r->c->weights + 4 * f);
    if (n_fit * 100 < (n + r->list->end.quads) * SORTED_HOPELESS) return false;
  }
  return n_fit * 100 >= n * SORTED_PERCENT;
}

/* Sorts the weights into the call's memory, c->sorted, unless an earlier call has done so. If the
 * call has too little memory, sorts into r->own, but only if it has SORTED_PIXELS outputs or
 * more. */
static void sort_runs(struct conv_row *r)
{
  enum { UNKNOWN, WORTH, USELESS };
  const struct mafat_integer_conv_call *c = r->c;
  const int end = c->end ? c->end : c->width;
  const size_t need = 1 + (size_t)mafat_divide_up(end - c->first, IVEC_LANES) *
                              (SORTED_COUNTS + r->list->end.quads);
  uint16_t own = UNKNOWN, *known = &own;
  r->sorted = r->own;
  if (c->sorted && need <= (size_t)c->sorted_capacity) {
    known = c->sorted;
    r->sorted = known + 1;
  } else if (c->n_rows * c->n_cols < SORTED_PIXELS) {
    return;
  }
  if (*known == UNKNOWN) *known = sort_vectors(r, end) ? WORTH : USELESS;
  if (*known == USELESS) return;
  r->is_sorted = true;
  r->distances[0] = -1; /* matches no row */
  sorted_follow(r);
}
