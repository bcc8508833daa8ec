/* Direct convolution: no im2col, no packing of inputs. A tile of outputs stays
 * in registers over the whole sum. Included by bodies.h. */

enum {
  SEGMENT_VECTORS = MAFAT_CHANNEL_BLOCK / VECTOR_LANES, /* vectors of 16 filters */
  TILE_VECTORS = VECTOR_SEGMENTS * SEGMENT_VECTORS,
  TILE_FILTERS = VECTOR_SEGMENTS * MAFAT_CHANNEL_BLOCK,
  TILE_PIXELS = VECTOR_PIXELS
};

/* Where the sums of a tile come from and go to. */
struct conv_tile {
  float *out[VECTOR_SEGMENTS];     /* first pixel */
  size_t pixel[VECTOR_SEGMENTS];   /* floats between pixels */
  int n_filters;
};

/* Keeps a value in a register: the compiler may not recompute it from others. */
#define OPAQUE(x) __asm__("" : "+r"(x))

#ifdef VECTOR_BY_LANE
/* Adds n taps that lie side by side; pixels are `step` bytes apart. Four taps of
 * a pixel are one load, every multiply-add picks its lane, and a weight is
 * loaded while the one before is in use: in-order cores wait for loads. */
INLINE const float *conv_run(vec sum[TILE_PIXELS][TILE_VECTORS], const char *in, size_t step,
                             const float *w, int width, int n, int n_filters, const int P,
                             const int NV)
{
  (void)n_filters; /* a panel's end is a vector's end */
  for (; n >= VECTOR_LANES; n -= VECTOR_LANES, in += sizeof(vec)) {
    vec x[TILE_PIXELS], weight, next = vec_load(w);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) x[p] = vec_load((const float *)(in + (size_t)p * step));
#pragma GCC unroll 16
    for (int i = 0; i < VECTOR_LANES * NV; i++) {
      const int lane = i / NV, v = i % NV;
      weight = next;
      if (v + 1 == NV) w += width;
      if (i + 1 < VECTOR_LANES * NV) next = vec_load(w + (v + 1) % NV * VECTOR_LANES);
#pragma GCC unroll 16
      for (int p = 0; p < P; p++) vec_accumulate_lane(&sum[p][v], weight, x[p], lane);
    }
  }
  for (; n > 0; n--, in += sizeof(float), w += width)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) {
      const vec weight = vec_load(w + v * VECTOR_LANES);
#pragma GCC unroll 16
      for (int p = 0; p < P; p++)
        vec_accumulate(&sum[p][v], vec_all(*(const float *)(in + (size_t)p * step)), weight);
    }
  return w;
}
#else
/* Adds n taps that lie side by side: per tap P broadcasts, NV weights, P * NV
 * multiply-adds. Pixels are `step` bytes apart: five of them are reached from
 * one base with the scaled addresses of x86 (0, 1, 2, 4 times step, 1 times 3
 * step), so that any step costs three or four registers. */
INLINE const float *conv_run(vec sum[TILE_PIXELS][TILE_VECTORS], const char *in, size_t step,
                             const float *w, int width, int n, int n_filters, const int P,
                             const int NV)
{
  size_t step3 = 3 * step;
  const char *base[3] = {in, in + 5 * step, in + 10 * step};
  OPAQUE(step3);
  OPAQUE(base[1]);
  OPAQUE(base[2]);
#define TAP(U) \
  do { \
    vec weight[TILE_VECTORS]; \
    _Pragma("GCC unroll 4") for (int v = 0; v < NV; v++) weight[v] = \
        vec_load_panel(w + v * VECTOR_LANES, v + 1 < NV ? VECTOR_LANES : n_filters - v * VECTOR_LANES); \
    w += width; \
    _Pragma("GCC unroll 16") for (int p = 0; p < P; p++) \
    { \
      const char *at = base[p / 5] + (p % 5 == 3 ? step3 : (size_t)(p % 5) * step); \
      vec x = vec_all(((const float *)at)[U]); \
      _Pragma("GCC unroll 4") for (int v = 0; v < NV; v++) vec_accumulate(&sum[p][v], x, weight[v]); \
    } \
  } while (0)
  for (; n >= 4; n -= 4) {
    TAP(0);
    TAP(1);
    TAP(2);
    TAP(3);
    base[0] += 16;
    base[1] += 16;
    base[2] += 16;
  }
  for (; n > 0; n--) {
    TAP(0);
    base[0] += 4;
    base[1] += 4;
    base[2] += 4;
  }
#undef TAP
  return w;
}
#endif

/* P output pixels x NV vectors of filters from column `col` on of row `row`. */
INLINE void conv_tile(const struct mafat_conv_call *c, const float *w, int first_filter, int row,
                      int col, const struct conv_tile *t, const int P, const int NV)
{
  const int width = c->width, n_filters = t->n_filters;
  const struct mafat_taps y_taps = c->window.y, x_taps = c->window.x;
  vec sum[TILE_PIXELS][TILE_VECTORS];
#pragma GCC unroll 16
  for (int p = 0; p < P; p++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) {
      const int s = v / SEGMENT_VECTORS, lane = v % SEGMENT_VECTORS * VECTOR_LANES;
      sum[p][v] = c->start ? vec_all(0.0f)
                           : vec_load_n(t->out[s] + (size_t)p * t->pixel[s] + lane,
                                        v + 1 < NV ? VECTOR_LANES : n_filters - v * VECTOR_LANES);
    }

  for (int i = 0; i < c->n_pieces; i++) {
    const struct mafat_conv_piece *piece = &c->pieces[i];
    const size_t pixel = (size_t)piece->pixel_floats * sizeof(float);
    const size_t step = pixel * (size_t)x_taps.stride, apart = pixel * (size_t)x_taps.dilation;
    const float *const *rows = piece->rows + row * y_taps.stride;
    /* Where nothing lies between taps, a row of them is one run. */
    const bool joined = piece->pixel_floats == piece->n_channels && x_taps.dilation == 1;
    const int run = joined ? piece->n_channels * x_taps.size : piece->n_channels;
    const int n_runs = joined ? 1 : x_taps.size;
    for (int ky = 0; ky < y_taps.size; ky++) {
      const char *in = (const char *)rows[ky * y_taps.dilation] + (size_t)col * step;
      for (int k = 0; k < n_runs; k++, in += apart)
        w = conv_run(sum, in, step, w, width, run, n_filters, P, NV);
    }
  }

#pragma GCC unroll 4
  for (int v = 0; v < NV; v++) {
    const int s = v / SEGMENT_VECTORS, lane = v % SEGMENT_VECTORS * VECTOR_LANES;
    const int n = v + 1 < NV ? VECTOR_LANES : n_filters - v * VECTOR_LANES;
    float *out = t->out[s] + lane;
    vec y[TILE_PIXELS];
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) y[p] = sum[p][v];
    if (c->finish) {
      const vec scale = vec_load_panel(c->scale + first_filter + v * VECTOR_LANES, n);
      const vec bias = vec_load_panel(c->bias + first_filter + v * VECTOR_LANES, n);
#pragma GCC unroll 16
      for (int p = 0; p < P; p++) y[p] = vec_madd(y[p], scale, bias);
      activate_vectors(y, P, c->activation);
    }
    /* Masked stores are slow: only where lanes are missing. */
    if (n >= VECTOR_LANES) {
#pragma GCC unroll 16
      for (int p = 0; p < P; p++, out += t->pixel[s]) vec_store(out, y[p]);
    } else {
#pragma GCC unroll 16
      for (int p = 0; p < P; p++, out += t->pixel[s]) vec_store_n(out, y[p], n);
    }
  }
}

typedef void (*tile_function)(const struct mafat_conv_call *c, const float *w, int first_filter,
                              int row, int col, const struct conv_tile *t);

#define TILE(P, NV) \
  static void tile_##P##_##NV(const struct mafat_conv_call *c, const float *w, int first_filter, \
                              int row, int col, const struct conv_tile *t) \
  { \
    conv_tile(c, w, first_filter, row, col, t, P, NV); \
  }

/* Tables of tiles: [vectors - 1][pixels - 1]. */
#if VECTOR_PIXELS == 14
#define TILES(NV) \
  TILE(1, NV) TILE(2, NV) TILE(3, NV) TILE(4, NV) TILE(5, NV) TILE(6, NV) TILE(7, NV) TILE(8, NV) \
  TILE(9, NV) TILE(10, NV) TILE(11, NV) TILE(12, NV) TILE(13, NV) TILE(14, NV)
#define TILE_ROW(NV) \
  {tile_1_##NV, tile_2_##NV, tile_3_##NV, tile_4_##NV, tile_5_##NV, tile_6_##NV, tile_7_##NV, \
   tile_8_##NV, tile_9_##NV, tile_10_##NV, tile_11_##NV, tile_12_##NV, tile_13_##NV, tile_14_##NV}
#elif VECTOR_PIXELS == 6
#define TILES(NV) TILE(1, NV) TILE(2, NV) TILE(3, NV) TILE(4, NV) TILE(5, NV) TILE(6, NV)
#define TILE_ROW(NV) \
  {tile_1_##NV, tile_2_##NV, tile_3_##NV, tile_4_##NV, tile_5_##NV, tile_6_##NV}
#else
#define TILES(NV) TILE(1, NV) TILE(2, NV)
#define TILE_ROW(NV) {tile_1_##NV, tile_2_##NV}
#endif

#if VECTOR_SEGMENTS * 16 / VECTOR_LANES == 4
TILES(1) TILES(2) TILES(3) TILES(4)
static const tile_function tiles[TILE_VECTORS][TILE_PIXELS] = {TILE_ROW(1), TILE_ROW(2),
                                                               TILE_ROW(3), TILE_ROW(4)};
#else
TILES(1) TILES(2)
static const tile_function tiles[TILE_VECTORS][TILE_PIXELS] = {TILE_ROW(1), TILE_ROW(2)};
#endif

/* One or two rows of finished outputs of a tile -> the largest of each 2 x 2. */
static void pool_tile(const float *rows[2], int n_rows, int n_pixels, int n_filters, float *out,
                      size_t out_pixel)
{
  for (int p = 0; p < n_pixels; p += 2, out += out_pixel)
    for (int v = 0; v < n_filters; v += VECTOR_LANES) {
      vec most = vec_all(-FLT_MAX);
      for (int r = 0; r < n_rows; r++)
        for (int x = p; x < p + 2 && x < n_pixels; x++)
          most = pool_vector(most, vec_load(rows[r] + x * MAFAT_CHANNEL_BLOCK + v));
      vec_store_n(out + v, most, n_filters - v);
    }
}

/* The filters of one tile's width over all rows, pooled. */
static void conv_pooled(const struct mafat_conv_call *c, int first_segment, int first_filter,
                        int n_filters)
{
  float sums[2][VECTOR_SEGMENTS][(TILE_PIXELS + TILE_PIXELS % 2) * MAFAT_CHANNEL_BLOCK];
  const int pairs = (c->n_cols + 1) / 2, pairs_per_tile = TILE_PIXELS / 2;
  const int n_tiles = (pairs + pairs_per_tile - 1) / pairs_per_tile;
  const int vectors = (n_filters + VECTOR_LANES - 1) / VECTOR_LANES;
  for (int row = 0; row < c->n_rows; row += 2)
    for (int t = 0, pair = 0; t < n_tiles; t++) {
      const int end = pair + (pairs - pair + n_tiles - t - 1) / (n_tiles - t);
      const int col = 2 * pair, n_pixels = (2 * end < c->n_cols ? 2 * end : c->n_cols) - col;
      const int n_rows = row + 1 < c->n_rows ? 2 : 1;
      for (int r = 0; r < n_rows; r++) {
        struct conv_tile tile = {.n_filters = n_filters};
        for (int s = 0; s < VECTOR_SEGMENTS; s++) {
          tile.out[s] = sums[r][s];
          tile.pixel[s] = MAFAT_CHANNEL_BLOCK;
        }
        tiles[vectors - 1][n_pixels - 1](c, c->weights + first_filter, first_filter, row + r, col, &tile);
      }
      for (int s = 0; s < VECTOR_SEGMENTS && s * MAFAT_CHANNEL_BLOCK < n_filters; s++) {
        const struct mafat_conv_segment *segment = &c->segments[first_segment + s];
        const float *rows[2] = {sums[0][s], sums[1][s]};
        const size_t pixel = (size_t)segment->pixel_floats;
        pool_tile(rows, n_rows, n_pixels, segment->n_filters,
                  segment->rows[row / 2] + (size_t)pair * pixel, pixel);
      }
      pair = end;
    }
}

static void conv_plain(const struct mafat_conv_call *c, int first_segment, int first_filter,
                       int n_filters)
{
  const int vectors = (n_filters + VECTOR_LANES - 1) / VECTOR_LANES;
  /* Tiles of nearly equal width: 19 columns are 10 + 9, not 14 + 5. */
  const int n_tiles = (c->n_cols + TILE_PIXELS - 1) / TILE_PIXELS;
  for (int row = 0; row < c->n_rows; row++) {
    const float *w = c->weights + (size_t)row * c->weights_row_floats + first_filter;
    for (int t = 0, col = 0; t < n_tiles; t++) {
      const int pixels = (c->n_cols - col + n_tiles - t - 1) / (n_tiles - t);
      struct conv_tile tile = {.n_filters = n_filters};
      for (int s = 0; s < VECTOR_SEGMENTS && s * MAFAT_CHANNEL_BLOCK < n_filters; s++) {
        const struct mafat_conv_segment *segment = &c->segments[first_segment + s];
        tile.pixel[s] = (size_t)segment->pixel_floats;
        tile.out[s] = segment->rows[row] + (size_t)col * tile.pixel[s];
      }
      tiles[vectors - 1][pixels - 1](c, w, first_filter, row, col, &tile);
      col += pixels;
    }
  }
}

static void conv(const struct mafat_conv_call *c)
{
#ifdef LEVEL_NARROW
  if (c->n_segments == 1 && c->segments[0].n_filters <= MAFAT_NARROW_FILTERS) {
    LEVEL_NARROW.conv(c);
    return;
  }
#endif
  for (int s = 0, first = 0; s < c->n_segments; s += VECTOR_SEGMENTS) {
    int n = 0;
    for (int i = s; i < s + VECTOR_SEGMENTS && i < c->n_segments; i++) n += c->segments[i].n_filters;
    if (c->pool) conv_pooled(c, s, first, n);
    else conv_plain(c, s, first, n);
    first += n;
  }
}
