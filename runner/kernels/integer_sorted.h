/* Quads sorted by how many of them are summed in 16 bits. Where all pairs of a vector's weights fit (integer_vector.h: ibytes_fit),
 * products of bytes are summed in pairs, which takes half the instructions of widened ones; where those of two quads, or of four,
 * fit together, too, they become 32 bits together. What fits is found out once for many pixels, and of each vector of filters
 * the quads that fit alike are taken one after the other: no loop has a branch on it, and sums are the same in any order.
 * Included by integer_conv.h, where there is IVEC_FITS.
 *
 * A tile is one vector of filters and up to ten pixels. */

enum sorted_way { SORTED_FOURS, SORTED_TWOS, SORTED_ONES, SORTED_WIDE, SORTED_WAYS };

/* A vector of filters, and how its quads are sorted: of each kind of runs counts of ways, and the quads in this order. */
struct sorted_vector {
  const struct conv_runs *kinds;
  int n_kinds;
  const uint16_t *counts, *quads;
  const uint8_t *in;      /* the first run at column 0 */
  const int32_t *places;  /* of quads behind it */
  const int8_t *weights;
  size_t pitch;           /* bytes between weights of quads */
  const int32_t *bias;
};

/* Sums of P pixels, n of whose lanes there are, from `from` or the bias. */
INLINE void sorted_begin(ivec sum[SORTED_TILE], const int32_t *bias, const int32_t *from, size_t pitch, int n, const int P)
{
  const ivec all = ivec_load_n(bias, n);
#pragma GCC unroll 16
  for (int p = 0; p < P; p++) sum[p] = from ? ivec_load_n(from + (size_t)p * pitch, n) : all;
}

/* Adds n quads, `together` at a time, to P pixels that are `step` bytes apart. */
INLINE const uint16_t *sorted_add(const struct sorted_vector *v, const uint16_t *quads, int n, const uint8_t *in, size_t step,
                                  ivec sum[SORTED_TILE], ibytes ones, const int together, const int P)
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
      for (int i = 1; i < together; i++) products = ibytes_add(products, ibytes_products(ibytes_input(at + place[i]), w[i]));
      sum[p] = ibytes_sum(sum[p], products, ones);
    }
  }
  return quads;
}

/* Those that do not fit. */
INLINE const uint16_t *sorted_add_wide(const struct sorted_vector *v, const uint16_t *quads, int n, const uint8_t *in, size_t step,
                                       ivec sum[SORTED_TILE], const int P)
{
  for (const uint16_t *end = quads + n; quads < end; quads++) {
    const ibytes w = ibytes_load(v->weights + *quads * v->pitch);
    const ibytes even = ibytes_weights_half(w, 0), odd = ibytes_weights_half(w, 1);
    const uint8_t *at = in + v->places[*quads];
#pragma GCC unroll 16
    for (int p = 0; p < P; p++, at += step) {
      const ibytes x = ibytes_input(at);
      sum[p] = ibytes_dot_half(ibytes_dot_half(sum[p], ibytes_input_half(x, 0), even), ibytes_input_half(x, 1), odd);
    }
  }
  return quads;
}

/* All quads. */
INLINE void sorted_sum(const struct sorted_vector *v, ivec sum[SORTED_TILE], size_t col, const int P)
{
  const ibytes ones = ibytes_ones();
  const uint16_t *quads = v->quads, *counts = v->counts;
  for (const struct conv_runs *k = v->kinds; k < v->kinds + v->n_kinds; k++, counts += SORTED_WAYS) {
    const uint8_t *const in = v->in + col * k->step;
    quads = sorted_add(v, quads, counts[SORTED_FOURS], in, k->step, sum, ones, 4, P);
    quads = sorted_add(v, quads, counts[SORTED_TWOS], in, k->step, sum, ones, 2, P);
    quads = sorted_add(v, quads, counts[SORTED_ONES], in, k->step, sum, ones, 1, P);
    quads = sorted_add_wide(v, quads, counts[SORTED_WIDE], in, k->step, sum, P);
  }
}

/* Sums of n tiles side by side, of so many lanes: from `from`, or the bias, to `to`. */
INLINE void sorted_tiles(const struct sorted_vector *v, int col, int n, const int32_t *from, int32_t *to, size_t pitch, int lanes,
                         const int P)
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

typedef void (*sorted_function)(const struct sorted_vector *v, int col, int n, const int32_t *from, int32_t *to, size_t pitch,
                                int lanes);

#define SORTED(P) \
  static void sorted_##P(const struct sorted_vector *v, int col, int n, const int32_t *from, int32_t *to, size_t pitch, int lanes) \
  { \
    sorted_tiles(v, col, n, from, to, pitch, lanes, P); \
  }
SORTED(1) SORTED(2) SORTED(3) SORTED(4) SORTED(5) SORTED(6) SORTED(7) SORTED(8) SORTED(9) SORTED(10)
/* [pixels - 1] */
static const sorted_function sorted_functions[SORTED_TILE] = {sorted_1, sorted_2, sorted_3, sorted_4, sorted_5,
                                                              sorted_6, sorted_7, sorted_8, sorted_9, sorted_10};

/* Of the vector of filters that begins at filter `first` of the panel. */
INLINE const uint16_t *sorted_counts(const struct conv_row *r, int first)
{
  return r->sorted + (size_t)((first - r->c->first) / IVEC_LANES) * (SORTED_COUNTS + r->list->end.quads);
}

/* The tiles from `col` on: filters [first, first + lanes) of the panel. */
static void sorted_columns_of(const struct conv_row *r, struct conv_tiling t, int col, int first, int lanes, const int32_t *from,
                              int32_t *to, size_t pitch)
{
  const uint16_t *counts = sorted_counts(r, first);
  const int wide = t.n_wide * (t.pixels + 1);
  const size_t behind = (size_t)wide * pitch;
  const struct sorted_vector v = {r->list->kinds, r->list->n_kinds, counts, counts + SORTED_COUNTS, r->list->in[0], r->places,
                                  r->c->weights + 4 * first, 4 * (size_t)r->c->width, r->c->to.bias + first};
  if (t.n_wide) sorted_functions[t.pixels](&v, col, t.n_wide, from, to, pitch, lanes);
  if (t.n) sorted_functions[t.pixels - 1](&v, col + wide, t.n, from ? from + behind : NULL, to + behind, pitch, lanes);
}

static void sorted_columns(const struct conv_row *r, struct conv_tiling t, int col, const int32_t *from, int32_t *to, size_t pitch)
{
  for (int f = 0; f < r->n_filters; f += IVEC_LANES) {
    /* Between sums that lie a tile apart there is room for all lanes. */
    const int lanes = pitch == TILE_LANES ? IVEC_LANES : mafat_min(r->n_filters - f, IVEC_LANES);
    sorted_columns_of(r, t, col, r->first + f, lanes, from ? from + f : NULL, to + f, pitch);
  }
}

/* Where the quads of this row are. */
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
  for (const struct conv_runs *k = r->list->kinds; k < r->list->kinds + r->list->n_kinds; k++)
    for (int i = 0; i < k->n; i++, distance++)
      for (int q = 0; q < k->n_quads; q++) *to++ = (int32_t)*distance + 4 * q;
}

/* Quads of one kind of runs as they are sorted. */
struct sorting {
  uint16_t *fours; /* from the front of the room that they all have, */
  uint16_t *wide;  /* and before its end */
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

/* Neighbours [quad, end), whose weights begin at w and are `pitch` apart. */
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

/* Sorts the quads of a vector of filters, whose weights begin at w: of each kind of runs by how they are summed. Returns how many
 * fit. */
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

/* Sorts the quads of all vectors. False: too few fit to make up for taking them by themselves; the first vector may tell. */
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

/* In room that the call brings and another call may have filled, or in the row's own. */
static void sort_runs(struct conv_row *r)
{
  enum { UNKNOWN, WORTH, USELESS };
  const struct mafat_integer_conv_call *c = r->c;
  const int end = c->end ? c->end : c->width;
  const size_t need = 1 + (size_t)mafat_divide_up(end - c->first, IVEC_LANES) * (SORTED_COUNTS + r->list->end.quads);
  uint16_t own = UNKNOWN, *known = &own;
  r->sorted = r->own;
  if (c->sorted && need <= (size_t)c->sorted_room) {
    known = c->sorted;
    r->sorted = known + 1;
  } else if (c->n_rows * c->n_cols < SORTED_PIXELS) {
    return;
  }
  if (*known == UNKNOWN) *known = sort_vectors(r, end) ? WORTH : USELESS;
  if (*known == USELESS) return;
  r->is_sorted = true;
  r->distances[0] = -1; /* of no row */
  sorted_follow(r);
}
