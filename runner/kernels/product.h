/* Kernel of the matrix products for Winograd, one for each point: tiles x channels times channels x
 * filters. Included by bodies.h; called by runner/engine/kinds/conv_winograd.c between the
 * transforms. A tile of sums stays in registers over all channels of the call, which are contiguous
 * and are added by conv_run of conv.h. Touches only the buffers of a call.
 *
 * Filters are the inner loop, so that the values of a few tiles are read from far caches once for
 * the whole panel, while a point's weights stay in the first-level cache.
 *
 * The products prefetch the weights that are transformed for the next call. Transforming these
 * weights during the products, a few channels after each tile, into another half of the buffer, was
 * not faster: with avx512 (Zen 4, least of 5 alternating runs) darknet19 took 28.1 to 31.7 ms and
 * yolov3-tiny 24.7 to 26.8 ms. With all weights transformed before the products, they took 30.2 and
 * 25.8 ms. */

enum { TILE_FILTERS = TILE_VECTORS * VECTOR_LANES };

/* Channels between two rounds of prefetching. */
enum { PRODUCT_CHANNELS = VECTOR_LANES == 16 ? 4 : 32 };

/* Addresses to prefetch. */
struct product_ahead {
  /* values of the next tiles, for the first-level cache */
  const char *values;
  /* the call's `ahead`, for the second-level cache: n_weights lines for each PRODUCT_CHANNELS */
  const char *weights;
  int n_weights;
};

/* Returns the lanes of a tile's vector v that are filters. Vectors of at most MAFAT_PANEL_STEP
 * lanes are never partial. */
INLINE int product_lanes(int lanes, const int v, const int NV)
{
  return VECTOR_LANES <= MAFAT_PANEL_STEP || v + 1 < NV ? VECTOR_LANES : lanes - v * VECTOR_LANES;
}

/* Computes P tiles x NV vectors of filters. `lanes`: number of filters in the panel from the tile's
 * first one on. */
INLINE void product_tile(const struct mafat_product_call *c, const float *values,
                         const float *weights, float *out, int lanes, struct product_ahead *ahead,
                         const int P, const int NV)
{
  const size_t width = (size_t)c->width, apart = (size_t)c->tile_floats * sizeof(float);
  const int lines = (P * PRODUCT_CHANNELS * TILE_FILTERS / MAFAT_PANEL + 15) / 16;
  vec sum[MOST_PIXELS][TILE_VECTORS];
  const bool fresh = c->start || c->apart;
  float *to = out;
#pragma GCC unroll 16
  for (int p = 0; p < P; p++, to += width) {
    OPAQUE(to);
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++)
      sum[p][v] =
          fresh ? vec_all(0.0f) : vec_load_n(to + v * VECTOR_LANES, product_lanes(lanes, v, NV));
  }
  const char *far = ahead->weights, *near = ahead->values;
  const int n_far = ahead->n_weights;
  for (int ch = 0; ch < c->n_channels; ch += PRODUCT_CHANNELS, near += 64 * lines) {
    const int n = c->n_channels - ch < PRODUCT_CHANNELS ? c->n_channels - ch : PRODUCT_CHANNELS;
#pragma GCC unroll 32
    for (int i = 0; i < lines; i++) __builtin_prefetch(near + 64 * i);
    for (int i = 0; i < n_far; i++, far += 64) __builtin_prefetch(far, 0, 2);
    weights = conv_run(sum, (const char *)(values + ch), apart, weights, c->width, n, lanes, P, NV);
  }
  ahead->weights = far;
  to = out;
#pragma GCC unroll 16
  for (int p = 0; p < P; p++, to += width) {
    OPAQUE(to);
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) {
      const int n = product_lanes(lanes, v, NV);
      if (c->apart) sum[p][v] = vec_add(vec_load_n(to + v * VECTOR_LANES, n), sum[p][v]);
      if (n >= VECTOR_LANES) vec_store(to + v * VECTOR_LANES, sum[p][v]);
      else vec_store_n(to + v * VECTOR_LANES, sum[p][v], n);
    }
  }
}

typedef void (*product_function)(const struct mafat_product_call *c, const float *values,
                                 const float *weights, float *out, int lanes,
                                 struct product_ahead *ahead);

#define PRODUCT(P, NV) \
  static void product_##P##_##NV(const struct mafat_product_call *c, const float *values, \
                                 const float *weights, float *out, int lanes, \
                                 struct product_ahead *ahead) \
  { \
    product_tile(c, values, weights, out, lanes, ahead, P, NV); \
  }

#if VECTOR_PIXELS == 14
#define PRODUCTS(NV) \
  PRODUCT(1, NV) \
  PRODUCT(2, NV) PRODUCT(3, NV) PRODUCT(4, NV) PRODUCT(5, NV) PRODUCT(6, NV) PRODUCT(7, NV) \
      PRODUCT(8, NV) PRODUCT(9, NV) PRODUCT(10, NV) PRODUCT(11, NV) PRODUCT(12, NV) \
          PRODUCT(13, NV) PRODUCT(14, NV)
#define PRODUCT_ROW(NV) \
  { \
    product_1_##NV, product_2_##NV, product_3_##NV, product_4_##NV, product_5_##NV, \
        product_6_##NV, product_7_##NV, product_8_##NV, product_9_##NV, product_10_##NV, \
        product_11_##NV, product_12_##NV, product_13_##NV, product_14_##NV \
  }
#elif VECTOR_PIXELS == 6
#define PRODUCTS(NV) \
  PRODUCT(1, NV) PRODUCT(2, NV) PRODUCT(3, NV) PRODUCT(4, NV) PRODUCT(5, NV) PRODUCT(6, NV)
#define PRODUCT_ROW(NV) \
  {product_1_##NV, product_2_##NV, product_3_##NV, product_4_##NV, product_5_##NV, product_6_##NV}
#else
#define PRODUCTS(NV) PRODUCT(1, NV) PRODUCT(2, NV)
#define PRODUCT_ROW(NV) {product_1_##NV, product_2_##NV}
#endif

/* [vectors - 1][tiles - 1] */
#if VECTOR_SEGMENTS * 16 / VECTOR_LANES == 4
PRODUCTS(1)
PRODUCTS(2) PRODUCTS(3)
    PRODUCTS(4) static const product_function products[TILE_VECTORS][TILE_PIXELS] = {
        PRODUCT_ROW(1), PRODUCT_ROW(2), PRODUCT_ROW(3), PRODUCT_ROW(4)};
#else
PRODUCTS(1)
PRODUCTS(2) static const product_function products[TILE_VECTORS][TILE_PIXELS] = {PRODUCT_ROW(1),
                                                                                 PRODUCT_ROW(2)};
#endif

static int product_turns(const struct mafat_product_call *c)
{
  return mafat_divide_up(c->n_tiles, TILE_PIXELS);
}

static void product_point(const struct mafat_product_call *c, const float *values,
                          const float *weights, float *sums, struct product_ahead *ahead)
{
  /* turns have nearly equal numbers of tiles */
  const int n_turns = product_turns(c), least = c->n_tiles / n_turns, n_wide = c->n_tiles % n_turns;
  /* bytes of a tile's values that are prefetched with each TILE_FILTERS filters */
  const size_t fetched = (size_t)c->tile_floats * sizeof(float) * TILE_FILTERS / (size_t)c->width;
  for (int turn = 0, tile = 0, n; turn < n_turns; turn++, tile += n) {
    n = turn < n_wide ? least + 1 : least;
    const size_t at = (size_t)tile * (size_t)c->tile_floats,
                 next = (size_t)(tile + n) * (size_t)c->tile_floats;
    ahead->values = (const char *)(values + (turn + 1 < n_turns ? next : c->values_point));
    for (int f = 0; f < c->width; f += TILE_FILTERS, ahead->values += (size_t)n * fetched) {
      const int lanes = c->width - f < TILE_FILTERS ? c->width - f : TILE_FILTERS;
      const int vectors = (lanes + VECTOR_LANES - 1) / VECTOR_LANES;
      products[vectors - 1][n - 1](c, values + at, weights + f,
                                   sums + (size_t)tile * (size_t)c->width + f, lanes, ahead);
    }
  }
}

static void product(const struct mafat_product_call *c)
{
#ifdef LEVEL_NARROW
  if (c->width <= MAFAT_NARROW_FILTERS) {
    LEVEL_NARROW.product(c);
    return;
  }
#endif
  const long long times = (long long)product_turns(c) * mafat_divide_up(c->width, TILE_FILTERS) *
                          mafat_divide_up(c->n_channels, PRODUCT_CHANNELS) * c->n_points;
  struct product_ahead ahead = {.weights = (const char *)c->ahead,
                                .n_weights = (int)((c->n_ahead + 16 * times - 1) / (16 * times))};
  for (size_t p = 0; p < (size_t)c->n_points; p++)
    product_point(c, c->values + p * c->values_point, c->weights + p * c->weights_point,
                  c->sums + p * c->sums_point, &ahead);
}
