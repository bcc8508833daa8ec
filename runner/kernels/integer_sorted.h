/* Quads sorted by what their weights allow. Where all pairs of a vector's weights fit (integer_vector.h: ibytes_fit), products
 * of bytes are summed in pairs of 16 bits, which takes half the instructions; other vectors are widened. Whether they fit is
 * found out once for many pixels, and of each vector of filters the quads that fit are taken first, then the others: no loop has a
 * branch on it, and sums are the same in any order. Included by integer_conv.h, where there is IVEC_FITS.
 *
 * A tile is one vector of filters and up to ten pixels. */

/* Quads of a vector of filters that fit, or that do not. */
struct sorted_pass {
  const uint8_t *in;      /* the first run at column 0 */
  const int32_t *places;  /* of quads behind it */
  size_t step, pitch;     /* bytes between pixels, between quads of weights */
  const int8_t *weights;
  const uint16_t *quads;
  int n;
};

/* Sums of P pixels, n of whose lanes there are, from `from` or the bias. */
INLINE void sorted_begin(ivec sum[SORTED_TILE], const int32_t *bias, const int32_t *from, size_t pitch, int n, const int P)
{
  const ivec all = ivec_load_n(bias, n);
#pragma GCC unroll 16
  for (int p = 0; p < P; p++) sum[p] = from ? ivec_load_n(from + (size_t)p * pitch, n) : all;
}

/* The quads of a pass. */
INLINE void sorted_sum(const struct sorted_pass *s, ivec sum[SORTED_TILE], size_t col, const bool fit, const int P)
{
  const size_t step = s->step, step5 = 5 * step;
  const uint8_t *const in = s->in + col * step;
  const ibytes ones = ibytes_ones();
  size_t step3 = 3 * step;
  OPAQUE(step3);
  for (const uint16_t *q = s->quads, *end = q + s->n; q < end; q++) {
    const ptrdiff_t place = s->places[*q];
    const uint8_t *at[2] = {in + place, in + place};
    OPAQUE(at[0]);
    if (P > 5) {
      at[1] = at[0] + step5;
      OPAQUE(at[1]);
    }
    const ibytes w = ibytes_load(s->weights + *q * s->pitch);
    const ibytes even = ibytes_weights_half(w, 0), odd = ibytes_weights_half(w, 1);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) {
      const ibytes x = ibytes_input(at[p / 5] + (p % 5 == 3 ? step3 : (size_t)(p % 5) * step));
      if (fit) sum[p] = ibytes_dot(sum[p], x, w, ones);
      else sum[p] = ibytes_dot_half(ibytes_dot_half(sum[p], ibytes_input_half(x, 0), even), ibytes_input_half(x, 1), odd);
    }
  }
}

/* Adds them to n tiles side by side, of so many lanes: from `from`, or the bias, to `to`. */
INLINE void sorted_tiles(const struct sorted_pass *s, int col, int n, const int32_t *bias, const int32_t *from, int32_t *to,
                         size_t pitch, int lanes, const bool fit, const int P)
{
  for (; n > 0; n--, col += P, to += (size_t)P * pitch) {
    ivec sum[SORTED_TILE];
    sorted_begin(sum, bias, from, pitch, lanes, P);
    sorted_sum(s, sum, (size_t)col, fit, P);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) ivec_store_n(to + (size_t)p * pitch, sum[p], lanes);
    if (from) from += (size_t)P * pitch;
  }
}

typedef void (*sorted_function)(const struct sorted_pass *s, int col, int n, const int32_t *bias, const int32_t *from, int32_t *to,
                                size_t pitch, int lanes);

#define SORTED(P) \
  static void sorted_fit_##P(const struct sorted_pass *s, int col, int n, const int32_t *bias, const int32_t *from, int32_t *to, \
                             size_t pitch, int lanes) \
  { \
    sorted_tiles(s, col, n, bias, from, to, pitch, lanes, true, P); \
  } \
  static void sorted_wide_##P(const struct sorted_pass *s, int col, int n, const int32_t *bias, const int32_t *from, int32_t *to, \
                              size_t pitch, int lanes) \
  { \
    sorted_tiles(s, col, n, bias, from, to, pitch, lanes, false, P); \
  }
SORTED(1) SORTED(2) SORTED(3) SORTED(4) SORTED(5) SORTED(6) SORTED(7) SORTED(8) SORTED(9) SORTED(10)
#define SORTED_ROW(W) \
  {sorted_##W##_1, sorted_##W##_2, sorted_##W##_3, sorted_##W##_4, sorted_##W##_5, sorted_##W##_6, sorted_##W##_7, sorted_##W##_8, \
   sorted_##W##_9, sorted_##W##_10}
/* [do they fit?][pixels - 1] */
static const sorted_function sorted_functions[2][SORTED_TILE] = {SORTED_ROW(wide), SORTED_ROW(fit)};

/* Of the vector of filters that begins at filter `first` of the panel. */
INLINE const uint16_t *sorted_vector(const struct conv_row *r, int first)
{
  return r->sorted + (size_t)((first - r->c->first) / IVEC_LANES) * (SORTED_COUNTS + r->end.quads);
}

/* All quads for the tiles from `col` on: filters [first, first + lanes) of the panel. */
static void sorted_columns_of(const struct conv_row *r, struct conv_tiling t, int col, int first, int lanes, const int32_t *from,
                              int32_t *to, size_t pitch)
{
  const uint16_t *counts = sorted_vector(r, first);
  const int32_t *bias = r->c->to.bias + first;
  const int wide = t.n_wide * (t.pixels + 1);
  const size_t behind = (size_t)wide * pitch;
  struct sorted_pass pass = {.in = r->in[0], .places = r->places, .pitch = 4 * (size_t)r->c->width,
                             .weights = r->c->weights + 4 * first, .quads = counts + SORTED_COUNTS};
  for (int k = 0; k < r->n_kinds; k++) {
    pass.step = r->kinds[k].step;
    for (int fit = 1; fit >= 0; fit--, pass.quads += pass.n) {
      pass.n = counts[2 * k + fit];
      if (!pass.n) continue;
      if (t.n_wide) sorted_functions[fit][t.pixels](&pass, col, t.n_wide, bias, from, to, pitch, lanes);
      if (t.n)
        sorted_functions[fit][t.pixels - 1](&pass, col + wide, t.n, bias, from ? from + behind : NULL, to + behind, pitch, lanes);
      from = to;
    }
  }
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
  for (int i = 0; i < r->n_runs; i++) {
    const ptrdiff_t distance = (ptrdiff_t)((uintptr_t)r->in[i] - (uintptr_t)r->in[0]);
    moved |= distance != r->distances[i];
    far |= distance < INT32_MIN / 2 || distance > INT32_MAX / 2;
    r->distances[i] = distance;
  }
  r->follows = !far;
  if (!moved || far) return;
  int32_t *to = r->places;
  const ptrdiff_t *distance = r->distances;
  for (const struct conv_runs *k = r->kinds; k < r->kinds + r->n_kinds; k++)
    for (int i = 0; i < k->n; i++, distance++)
      for (int q = 0; q < k->n_quads; q++) *to++ = (int32_t)*distance + 4 * q;
}

/* Sorts the quads of a vector of filters, whose weights begin at w: for each kind of runs those that fit, then the others. */
static void sort_vector(const struct conv_row *r, uint16_t *counts, const int8_t *w)
{
  const size_t pitch = 4 * (size_t)r->c->width;
  uint16_t *to = counts + SORTED_COUNTS, others[SORTED_QUADS];
  int quad = 0;
  memset(counts, 0, SORTED_COUNTS * sizeof *counts);
  for (int k = 0; k < r->n_kinds; k++) {
    const int begin = quad, end = quad + r->kinds[k].n * r->kinds[k].n_quads;
    int n = 0;
    for (; quad < end; quad++, w += pitch) { /* without a branch on what cannot be foreseen */
      const bool fit = ibytes_fit(ibytes_load(w));
      to[n] = others[quad - begin - n] = (uint16_t)quad;
      n += fit;
    }
    memcpy(to + n, others, (size_t)(end - begin - n) * sizeof *to);
    counts[2 * k + 1] = (uint16_t)n;
    counts[2 * k] = (uint16_t)(end - begin - n);
    to += end - begin;
  }
}

/* Sorts the quads of all vectors. False: too few fit to make up for taking them by themselves. */
static bool sort_vectors(struct conv_row *r, int end)
{
  size_t n_fit = 0, n = 0;
  for (int f = r->c->first; f < end; f += IVEC_LANES, n += r->end.quads) {
    uint16_t *counts = (uint16_t *)(uintptr_t)sorted_vector(r, f);
    sort_vector(r, counts, r->c->weights + 4 * f);
    for (int k = 0; k < r->n_kinds; k++) n_fit += counts[2 * k + 1];
  }
  return n_fit * 100 >= n * SORTED_PERCENT;
}

/* In room that the call brings and another call may have filled, or in the row's own. */
static void sort_runs(struct conv_row *r)
{
  enum { UNKNOWN, WORTH, USELESS };
  const struct mafat_integer_conv_call *c = r->c;
  const int end = c->end ? c->end : c->width;
  const size_t need = 1 + (size_t)mafat_divide_up(end - c->first, IVEC_LANES) * (SORTED_COUNTS + r->end.quads);
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
