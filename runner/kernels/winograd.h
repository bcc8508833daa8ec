/* Kernels of the Winograd transforms. One-dimensional transforms are applied to columns, then to
 * rows, for vectors of channels or filters. OUT is the number of outputs along a tile's side,
 * always a constant. Included by bodies.h; called by runner/engine/kinds/conv_winograd.c. Touches
 * only the rows and buffers of a call.
 *
 * F(4x4, 3x3) interpolates at 0, +-sqrt(1/2), +-sqrt(2) and infinity instead of the usual 0, +-1,
 * +-2. Powers of these points are closer to 1, and the error is a fifth (1280 channels, relative to
 * max |y|: 4.9e-6 instead of 2.4e-5; direct summation 4.0e-6).
 *
 * F(6x6, 3x3) interpolates at 0, +-1, +-2, +-1/2 and infinity, for which B and A are exact. Other
 * points are hardly better (128 channels, RMS error relative to RMS of y: 4.7e-6; best other points
 * 4.5e-6; F(4x4) 1.0e-6). The error grows with the length of sums, so channels are summed in blocks
 * of 64 (1024 channels, relative to max |y|: 6e-6 instead of 2.0e-5). */

enum { MOST_OUTPUTS = 6, MOST_WINDOW = MOST_OUTPUTS + 2 };

#define ROOT_2 1.41421356f
#define ROOT_HALF 0.70710678f

/* B' of six values, with a = sqrt(1/2), b = sqrt(2). Rows: 1 0 -5/2 0 1 0;
 * 0 -b -2 a 1 0; 0 b -2 -a 1 0; 0 -a -1/2 b 1 0; 0 a -1/2 -b 1 0; 0 1 0 -5/2 0 1. */
INLINE void input_4(const vec *d, vec *out)
{
  const vec minus2 = vec_all(-2.0f), minus_half = vec_all(-0.5f), minus5_2 = vec_all(-2.5f);
  vec even_a = vec_madd(minus2, d[2], d[4]), odd_a = vec_madd(minus2, d[1], d[3]);
  vec even_b = vec_madd(minus_half, d[2], d[4]), odd_b = vec_madd(minus_half, d[1], d[3]);
  out[0] = vec_add(d[0], vec_madd(minus5_2, d[2], d[4]));
  out[1] = vec_madd(vec_all(ROOT_HALF), odd_a, even_a);
  out[2] = vec_madd(vec_all(-ROOT_HALF), odd_a, even_a);
  out[3] = vec_madd(vec_all(ROOT_2), odd_b, even_b);
  out[4] = vec_madd(vec_all(-ROOT_2), odd_b, even_b);
  out[5] = vec_add(d[1], vec_madd(minus5_2, d[3], d[5]));
}

/* A' of six values. Rows: 1 1 1 1 1 0; 0 a -a b -b 0; 0 1/2 1/2 2 2 0;
 * 0 a/2 -a/2 2b -2b 1. */
INLINE void output_4(const vec *m, vec *out)
{
  vec sum_a = vec_add(m[1], m[2]), sum_b = vec_add(m[3], m[4]);
  vec difference_a = vec_sub(m[1], m[2]), difference_b = vec_sub(m[3], m[4]);
  out[0] = vec_add(vec_add(m[0], sum_a), sum_b);
  out[1] = vec_madd(vec_all(ROOT_2), difference_b, vec_mul(vec_all(ROOT_HALF), difference_a));
  out[2] = vec_madd(vec_all(2.0f), sum_b, vec_mul(vec_all(0.5f), sum_a));
  out[3] = vec_madd(vec_all(2.0f * ROOT_2), difference_b,
                    vec_madd(vec_all(0.5f * ROOT_HALF), difference_a, m[5]));
}

/* G of three values. Rows: 1 0 0; -2/3 -2a/3 -1/3; -2/3 2a/3 -1/3; 1/6 b/6 1/3;
 * 1/6 -b/6 1/3; 0 0 1. */
INLINE void weights_4(const vec *g, vec *out)
{
  const vec third = vec_all(1.0f / 3.0f);
  vec even_a = vec_madd(vec_all(-2.0f / 3.0f), g[0], vec_mul(vec_all(-1.0f / 3.0f), g[2]));
  vec even_b = vec_madd(third, g[2], vec_mul(vec_all(1.0f / 6.0f), g[0]));
  out[0] = g[0];
  out[1] = vec_madd(vec_all(-2.0f / 3.0f * ROOT_HALF), g[1], even_a);
  out[2] = vec_madd(vec_all(2.0f / 3.0f * ROOT_HALF), g[1], even_a);
  out[3] = vec_madd(vec_all(ROOT_2 / 6.0f), g[1], even_b);
  out[4] = vec_madd(vec_all(-ROOT_2 / 6.0f), g[1], even_b);
  out[5] = g[2];
}

/* B' of eight values. Rows: 1 0 -21/4 0 21/4 0 -1 0; 0 1 1 -17/4 -17/4 1 1 0;
 * 0 -1 1 17/4 -17/4 -1 1 0; 0 1/2 1/4 -5/2 -5/4 2 1 0; 0 -1/2 1/4 5/2 -5/4 -2 1 0;
 * 0 2 4 -5/2 -5 1/2 1 0; 0 -2 4 5/2 -5 -1/2 1 0; 0 -1 0 21/4 0 -21/4 0 1. */
INLINE void input_6(const vec *d, vec *out)
{
  const vec quarters21 = vec_all(5.25f), minus17_4 = vec_all(-4.25f), minus5_2 = vec_all(-2.5f);
  vec even_1 = vec_madd(minus17_4, d[4], vec_add(d[2], d[6])),
      odd_1 = vec_madd(minus17_4, d[3], vec_add(d[1], d[5]));
  vec even_2 = vec_madd(vec_all(0.25f), d[2], vec_madd(vec_all(-1.25f), d[4], d[6]));
  vec odd_2 = vec_madd(vec_all(2.0f), d[5], vec_madd(minus5_2, d[3], vec_mul(vec_all(0.5f), d[1])));
  vec even_half = vec_madd(vec_all(4.0f), d[2], vec_madd(vec_all(-5.0f), d[4], d[6]));
  vec odd_half =
      vec_madd(vec_all(2.0f), d[1], vec_madd(minus5_2, d[3], vec_mul(vec_all(0.5f), d[5])));
  out[0] = vec_madd(quarters21, vec_sub(d[4], d[2]), vec_sub(d[0], d[6]));
  out[1] = vec_add(even_1, odd_1);
  out[2] = vec_sub(even_1, odd_1);
  out[3] = vec_add(even_2, odd_2);
  out[4] = vec_sub(even_2, odd_2);
  out[5] = vec_add(even_half, odd_half);
  out[6] = vec_sub(even_half, odd_half);
  out[7] = vec_madd(quarters21, vec_sub(d[3], d[5]), vec_sub(d[7], d[1]));
}

/* A' of eight values. Rows: 1 1 1 1 1 1 1 0; 0 1 -1 2 -2 1/2 -1/2 0; the second row's squares, its
 * cubes, its fourth powers, and its fifth powers with 1 instead of 0 at the end. */
INLINE void output_6(const vec *m, vec *out)
{
  vec sum_1 = vec_add(m[1], m[2]), sum_2 = vec_add(m[3], m[4]), sum_half = vec_add(m[5], m[6]);
  vec difference_1 = vec_sub(m[1], m[2]), difference_2 = vec_sub(m[3], m[4]),
      difference_half = vec_sub(m[5], m[6]);
  out[0] = vec_add(vec_add(m[0], sum_1), vec_add(sum_2, sum_half));
  out[1] =
      vec_madd(vec_all(0.5f), difference_half, vec_madd(vec_all(2.0f), difference_2, difference_1));
  out[2] = vec_madd(vec_all(0.25f), sum_half, vec_madd(vec_all(4.0f), sum_2, sum_1));
  out[3] = vec_madd(vec_all(0.125f), difference_half,
                    vec_madd(vec_all(8.0f), difference_2, difference_1));
  out[4] = vec_madd(vec_all(0.0625f), sum_half, vec_madd(vec_all(16.0f), sum_2, sum_1));
  out[5] = vec_madd(vec_all(0.03125f), difference_half,
                    vec_madd(vec_all(32.0f), difference_2, vec_add(m[7], difference_1)));
}

/* G of three values. Rows: 1 0 0; -2/9 -2/9 -2/9; -2/9 2/9 -2/9; 1/90 1/45 2/45;
 * 1/90 -1/45 2/45; 32/45 16/45 8/45; 32/45 -16/45 8/45; 0 0 1. */
INLINE void weights_6(const vec *g, vec *out)
{
  vec even_1 = vec_mul(vec_all(-2.0f / 9.0f), vec_add(g[0], g[2])),
      odd_1 = vec_mul(vec_all(-2.0f / 9.0f), g[1]);
  vec even_2 = vec_madd(vec_all(2.0f / 45.0f), g[2], vec_mul(vec_all(1.0f / 90.0f), g[0]));
  vec odd_2 = vec_mul(vec_all(1.0f / 45.0f), g[1]);
  vec even_half = vec_madd(vec_all(8.0f / 45.0f), g[2], vec_mul(vec_all(32.0f / 45.0f), g[0]));
  vec odd_half = vec_mul(vec_all(16.0f / 45.0f), g[1]);
  out[0] = g[0];
  out[1] = vec_add(even_1, odd_1);
  out[2] = vec_sub(even_1, odd_1);
  out[3] = vec_add(even_2, odd_2);
  out[4] = vec_sub(even_2, odd_2);
  out[5] = vec_add(even_half, odd_half);
  out[6] = vec_sub(even_half, odd_half);
  out[7] = g[2];
}

INLINE void transform_input(const vec *d, vec *out, const int OUT)
{
  if (OUT == 4) input_4(d, out);
  else input_6(d, out);
}

INLINE void transform_output(const vec *m, vec *out, const int OUT)
{
  if (OUT == 4) output_4(m, out);
  else output_6(m, out);
}

INLINE void transform_weights(const vec *g, vec *out, const int OUT)
{
  if (OUT == 4) weights_4(g, out);
  else weights_6(g, out);
}

/* Computes byte offsets of a window's values, which are `floats` apart. If there are many
 * registers, each offset has one. If there are few, only odd offsets have one, because an x86
 * address can double an offset. Without this function, compilers use a register for each point even
 * if there are few, and spill. */
INLINE void window_offsets(size_t *offsets, size_t floats, const int OUT)
{
  offsets[0] = 0;
#pragma GCC unroll 8
  for (int i = 1; i < OUT + 2; i++) {
    offsets[i] = i % 2 ? (size_t)i * floats * sizeof(float) : 2 * offsets[i / 2];
    if (i % 2 || VECTOR_MANY_REGISTERS) OPAQUE(offsets[i]);
  }
}

INLINE float *offset(const float *p, size_t bytes)
{
  return (float *)((uintptr_t)p + bytes);
}

/* Transforms one vector of channels x filters, n lanes; taps are `tap` floats apart. */
INLINE void weights_tile(const float *g, size_t tap, float *out, size_t point_floats, const int n,
                         const int OUT)
{
  const int WINDOW = OUT + 2;
  vec columns[3][MOST_WINDOW], line[MOST_WINDOW];
  size_t points[MOST_WINDOW];
  window_offsets(points, point_floats, OUT);
#pragma GCC unroll 3
  for (int x = 0; x < 3; x++) {
    vec taps[3];
#pragma GCC unroll 3
    for (int y = 0; y < 3; y++) taps[y] = vec_load_panel(g + (size_t)(3 * y + x) * tap, n);
    transform_weights(taps, columns[x], OUT);
  }
#pragma GCC unroll 8
  for (int y = 0; y < WINDOW; y++) {
    vec taps[3] = {columns[0][y], columns[1][y], columns[2][y]};
    transform_weights(taps, line, OUT);
#pragma GCC unroll 8
    for (int x = 0; x < WINDOW; x++) vec_store_n(offset(out, points[x]), line[x], n);
    out += (size_t)WINDOW * point_floats;
    OPAQUE(out);
  }
}

/* Transforms a block's weights from [tap][channel][width] to [point][channel][width], in vectors
 * across channels and filters. */
INLINE void winograd_weights(const float *weights, int n_channels, int width, float *values,
                             size_t point_floats, const int OUT)
{
  const size_t tap = (size_t)n_channels * (size_t)width, whole = tap / VECTOR_LANES * VECTOR_LANES;
  const float *next = weights + 9 * tap; /* next block, or past the panel; only prefetched */
  for (size_t i = 0; i < whole; i += VECTOR_LANES) {
    /* Weights of late layers come from memory, so prefetch the next block line by line: to the
     * second-level cache, because the first one is full of lines of all points. */
    if (i % 16 == 0)
      for (size_t line = 0; line < 9; line++) __builtin_prefetch(next + 9 * i + 16 * line, 0, 2);
    weights_tile(weights + i, tap, values + i, point_floats, VECTOR_LANES, OUT);
  }
  if (whole < tap)
    weights_tile(weights + whole, tap, values + whole, point_floats, (int)(tap - whole), OUT);
}

/* Transforms one tile for one vector of n channels; `inside`: all columns of the window are in the
 * map. */
INLINE void input_tile(const struct mafat_winograd_input_call *c, int tile, int v, const int n,
                       const bool inside, const int OUT)
{
  const size_t pixel = (size_t)c->pixel_floats;
  const int first = tile * OUT, WINDOW = OUT + 2;
  float *out = c->values + (size_t)tile * (size_t)c->tile_floats + v;
  vec columns[MOST_WINDOW][MOST_WINDOW], line[MOST_WINDOW];
  size_t at = ((size_t)first * pixel + (size_t)v) * sizeof(float), points[MOST_WINDOW];
#pragma GCC unroll 8
  for (int x = 0; x < WINDOW; x++, at += pixel * sizeof(float)) {
    vec d[MOST_WINDOW];
    OPAQUE(at); /* same offset in all rows */
#pragma GCC unroll 8
    for (int y = 0; y < WINDOW; y++)
      d[y] =
          inside || first + x < c->n_cols ? vec_load_n(offset(c->rows[y], at), n) : vec_all(0.0f);
    transform_input(d, columns[x], OUT);
  }
  window_offsets(points, c->point_floats, OUT);
#pragma GCC unroll 8
  for (int y = 0; y < WINDOW; y++) {
    vec d[MOST_WINDOW];
#pragma GCC unroll 8
    for (int x = 0; x < WINDOW; x++) d[x] = columns[x][y];
    transform_input(d, line, OUT);
#pragma GCC unroll 8
    for (int x = 0; x < WINDOW; x++) vec_store_n(offset(out, points[x]), line[x], n);
    out += (size_t)WINDOW * c->point_floats;
    OPAQUE(out);
  }
}

INLINE void winograd_input(const struct mafat_winograd_input_call *c, const int OUT)
{
  for (int tile = 0; tile < c->n_tiles; tile++)
    for (int v = 0; v < c->n_channels; v += VECTOR_LANES)
      if (tile * OUT + OUT + 2 <= c->n_cols && v + VECTOR_LANES <= c->n_channels)
        input_tile(c, tile, v, VECTOR_LANES, true, OUT);
      else
        input_tile(c, tile, v, c->n_channels - v, false, OUT);
}

/* Stores two rows of a tile's outputs, from `row` on, except for rows and columns past the map. */
INLINE void store_rows(const struct mafat_winograd_output_call *c, int row, int first, int n_cols,
                       int v, const int n, const vec *y, const int OUT)
{
  const size_t pixel = (size_t)c->pixel_floats;
#pragma GCC unroll 2
  for (int r = 0; r < 2; r++) {
    if (row + r >= c->n_rows) break;
    float *out = c->rows[row + r] + (size_t)first * pixel + v;
#pragma GCC unroll 8
    for (int col = 0; col < OUT; col++, out += pixel) {
      if (col >= n_cols) break;
      vec_store_n(out, y[r * OUT + col], n);
    }
  }
}

/* Stores the maximum of each 2 x 2 outputs. */
INLINE void store_pooled(const struct mafat_winograd_output_call *c, int row, int first, int n_cols,
                         int v, const int n, const vec *y, const int OUT)
{
  const size_t pixel = (size_t)c->pixel_floats;
  float *out = c->rows[row / 2] + (size_t)(first / 2) * pixel + v;
#pragma GCC unroll 4
  for (int col = 0; col < OUT; col += 2, out += pixel) {
    if (col >= n_cols) break;
    vec most = pool_vector(vec_all(-FLT_MAX), y[col]);
    if (col + 1 < n_cols) most = pool_vector(most, y[col + 1]);
    if (row + 1 < c->n_rows) {
      most = pool_vector(most, y[OUT + col]);
      if (col + 1 < n_cols) most = pool_vector(most, y[OUT + col + 1]);
    }
    vec_store_n(out, most, n);
  }
}

/* Prefetches the cache lines of a tile's outputs, which were not written before. */
INLINE void fetch_outputs(const struct mafat_winograd_output_call *c, int tile, int v,
                          const int OUT)
{
  const int side = c->pool ? OUT / 2 : OUT, n_rows = c->pool ? (c->n_rows + 1) / 2 : c->n_rows;
  for (int row = 0; row < n_rows; row++) {
    const float *out = c->rows[row] + (size_t)(tile * side) * (size_t)c->pixel_floats + v;
    for (int col = 0; col < side; col++, out += c->pixel_floats) __builtin_prefetch(out, 1);
  }
}

/* Transforms one tile for one vector of n filters. */
INLINE void output_tile(const struct mafat_winograd_output_call *c, int tile, int v, const int n,
                        const int OUT)
{
  const int WINDOW = OUT + 2, first = tile * OUT,
            n_cols = c->n_cols - first < OUT ? c->n_cols - first : OUT;
  const float *values = c->values + (size_t)tile * (size_t)c->tile_floats + v;
  vec columns[MOST_WINDOW][MOST_OUTPUTS];
  size_t points[MOST_WINDOW];
  window_offsets(points, (size_t)WINDOW * c->point_floats, OUT);
#pragma GCC unroll 8
  for (int x = 0; x < WINDOW; x++, values += c->point_floats) {
    vec m[MOST_WINDOW];
    OPAQUE(values);
#pragma GCC unroll 8
    for (int row = 0; row < WINDOW; row++) m[row] = vec_load_n(offset(values, points[row]), n);
    transform_output(m, columns[x], OUT);
  }
  const vec scale = vec_load_panel(c->scale + v, n), bias = vec_load_panel(c->bias + v, n);
  /* two rows at a time, because pooling needs pairs, and the activation is then selected once for
   * many vectors */
#pragma GCC unroll 4
  for (int row = 0; row < OUT; row += 2) {
    vec m[MOST_WINDOW], y[2 * MOST_OUTPUTS];
    if (row >= c->n_rows) break;
#pragma GCC unroll 2
    for (int r = 0; r < 2; r++) {
#pragma GCC unroll 8
      for (int x = 0; x < WINDOW; x++) m[x] = columns[x][row + r];
      transform_output(m, y + r * OUT, OUT);
    }
#pragma GCC unroll 12
    for (int i = 0; i < 2 * OUT; i++) y[i] = vec_madd(y[i], scale, bias);
    activate_vectors(y, 2 * OUT, &c->activation);
    if (c->pool) store_pooled(c, row, first, n_cols, v, n, y, OUT);
    else store_rows(c, row, first, n_cols, v, n, y, OUT);
  }
}

INLINE void winograd_output(const struct mafat_winograd_output_call *c, const int OUT)
{
  struct mafat_winograd_output_call call = *c;
  call.activation = general_activation(c->activation);
  /* filters are the inner loop, because a point's vectors share a cache line */
  for (int tile = 0; tile < c->n_tiles; tile++)
    for (int v = 0; v < c->n_filters; v += VECTOR_LANES) {
      if (v % 16 == 0) fetch_outputs(c, tile, v, OUT);
      if (v + VECTOR_LANES <= c->n_filters) output_tile(&call, tile, v, VECTOR_LANES, OUT);
      else output_tile(&call, tile, v, c->n_filters - v, OUT);
    }
}

#define WINOGRAD(OUT) \
  LEVEL_PART("winograd_" #OUT) \
  static void winograd_weights_##OUT(const float *weights, int n_channels, int width, \
                                     float *values, size_t point_floats) \
  { \
    winograd_weights(weights, n_channels, width, values, point_floats, OUT); \
  } \
  LEVEL_PART("winograd_" #OUT) \
  static void winograd_input_##OUT(const struct mafat_winograd_input_call *c) \
  { \
    winograd_input(c, OUT); \
  } \
  LEVEL_PART("winograd_" #OUT) \
  static void winograd_output_##OUT(const struct mafat_winograd_output_call *c) \
  { \
    winograd_output(c, OUT); \
  }

WINOGRAD(4)
WINOGRAD(6)

/* [enum mafat_winograd_size] */
#define WINOGRAD_KERNELS \
  { \
    {winograd_weights_4, winograd_input_4, winograd_output_4}, \
    { \
      winograd_weights_6, winograd_input_6, winograd_output_6 \
    } \
  }
