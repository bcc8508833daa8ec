/* Winograd's F(4x4, 3x3): the transforms. One-dimensional transforms of six (or
 * three) vectors, applied to the columns, then to the rows. Included by bodies.h. */

enum { WINDOW = MAFAT_WINOGRAD_WINDOW, OUTPUTS = MAFAT_WINOGRAD_TILE };

/* B' of six values. Rows: 4 0 -5 0 1 0; 0 -4 -4 1 1 0; 0 4 -4 -1 1 0;
 * 0 -2 -1 2 1 0; 0 2 -1 -2 1 0; 0 4 0 -5 0 1. */
INLINE void transform_input(const vec d[WINDOW], vec out[WINDOW])
{
  const vec four = vec_all(4.0f), minus4 = vec_all(-4.0f), minus5 = vec_all(-5.0f);
  vec even4 = vec_madd(minus4, d[2], d[4]), odd4 = vec_madd(minus4, d[1], d[3]);
  vec even1 = vec_sub(d[4], d[2]), odd2 = vec_mul(vec_all(2.0f), vec_sub(d[3], d[1]));
  out[0] = vec_madd(four, d[0], vec_madd(minus5, d[2], d[4]));
  out[1] = vec_add(even4, odd4);
  out[2] = vec_sub(even4, odd4);
  out[3] = vec_add(even1, odd2);
  out[4] = vec_sub(even1, odd2);
  out[5] = vec_madd(four, d[1], vec_madd(minus5, d[3], d[5]));
}

/* A' of six values. Rows: 1 1 1 1 1 0; 0 1 -1 2 -2 0; 0 1 1 4 4 0; 0 1 -1 8 -8 1. */
INLINE void transform_output(const vec m[WINDOW], vec out[OUTPUTS])
{
  vec sum1 = vec_add(m[1], m[2]), sum2 = vec_add(m[3], m[4]);
  vec difference1 = vec_sub(m[1], m[2]), difference2 = vec_sub(m[3], m[4]);
  out[0] = vec_add(vec_add(m[0], sum1), sum2);
  out[1] = vec_madd(vec_all(2.0f), difference2, difference1);
  out[2] = vec_madd(vec_all(4.0f), sum2, sum1);
  out[3] = vec_add(vec_madd(vec_all(8.0f), difference2, difference1), m[5]);
}

/* G of three values. Rows: 1/4 0 0; -1/6 -1/6 -1/6; -1/6 1/6 -1/6; 1/24 1/12 1/6;
 * 1/24 -1/12 1/6; 0 0 1. */
INLINE void transform_weights(const vec g[3], vec out[WINDOW])
{
  const vec minus6th = vec_all(-1.0f / 6.0f);
  vec ends = vec_mul(minus6th, vec_add(g[0], g[2])), middle = vec_mul(minus6th, g[1]);
  vec far = vec_madd(vec_all(1.0f / 6.0f), g[2], vec_mul(vec_all(1.0f / 24.0f), g[0]));
  vec half = vec_mul(vec_all(1.0f / 12.0f), g[1]);
  out[0] = vec_mul(vec_all(0.25f), g[0]);
  out[1] = vec_add(ends, middle);
  out[2] = vec_sub(ends, middle);
  out[3] = vec_add(far, half);
  out[4] = vec_sub(far, half);
  out[5] = g[2];
}

/* One channel, one vector of n filters; taps are `tap` floats apart. */
INLINE void weights_tile(const float *g, size_t tap, float *out, size_t point_floats, const int n)
{
  vec columns[3][WINDOW], line[WINDOW];
#pragma GCC unroll 3
  for (int x = 0; x < 3; x++) {
    vec taps[3];
#pragma GCC unroll 3
    for (int y = 0; y < 3; y++) taps[y] = vec_load_panel(g + (size_t)(3 * y + x) * tap, n);
    transform_weights(taps, columns[x]);
  }
#pragma GCC unroll 6
  for (int y = 0; y < WINDOW; y++) {
    vec taps[3] = {columns[0][y], columns[1][y], columns[2][y]};
    transform_weights(taps, line);
#pragma GCC unroll 6
    for (int x = 0; x < WINDOW; x++) vec_store_n(out + (size_t)(WINDOW * y + x) * point_floats, line[x], n);
  }
}

static void winograd_weights(const float *weights, int n_channels, int width, float *values,
                             size_t point_floats)
{
  const size_t tap = (size_t)n_channels * (size_t)width;
  for (size_t ch = 0; ch < (size_t)n_channels; ch++)
    for (int v = 0; v < width; v += VECTOR_LANES) {
      const float *g = weights + ch * (size_t)width + v;
      float *out = values + ch * (size_t)width + v;
      if (v + VECTOR_LANES <= width) weights_tile(g, tap, out, point_floats, VECTOR_LANES);
      else weights_tile(g, tap, out, point_floats, width - v);
    }
}

/* One tile, one vector of n channels; `inside`: all 6 columns exist. */
INLINE void input_tile(const struct mafat_winograd_input_call *c, int tile, int v, const int n,
                       const bool inside)
{
  const size_t pixel = (size_t)c->pixel_floats;
  const int first = tile * OUTPUTS;
  float *out = c->values + (size_t)tile * (size_t)c->tile_floats + v;
  vec columns[WINDOW][WINDOW], line[WINDOW];
#pragma GCC unroll 6
  for (int x = 0; x < WINDOW; x++) {
    vec d[WINDOW];
#pragma GCC unroll 6
    for (int y = 0; y < WINDOW; y++)
      d[y] = inside || first + x < c->n_cols
                 ? vec_load_n(c->rows[y] + (size_t)(first + x) * pixel + v, n)
                 : vec_all(0.0f);
    transform_input(d, columns[x]);
  }
#pragma GCC unroll 6
  for (int y = 0; y < WINDOW; y++) {
    vec d[WINDOW];
#pragma GCC unroll 6
    for (int x = 0; x < WINDOW; x++) d[x] = columns[x][y];
    transform_input(d, line);
#pragma GCC unroll 6
    for (int x = 0; x < WINDOW; x++) vec_store_n(out + (size_t)(WINDOW * y + x) * c->point_floats, line[x], n);
  }
}

static void winograd_input(const struct mafat_winograd_input_call *c)
{
  for (int tile = 0; tile < c->n_tiles; tile++)
    for (int v = 0; v < c->n_channels; v += VECTOR_LANES)
      if (tile * OUTPUTS + WINDOW <= c->n_cols && v + VECTOR_LANES <= c->n_channels)
        input_tile(c, tile, v, VECTOR_LANES, true);
      else
        input_tile(c, tile, v, c->n_channels - v, false);
}

/* Stores one finished tile, or the largest of each 2 x 2 of it, as far as rows
 * and columns exist. */
INLINE void store_tile(const struct mafat_winograd_output_call *c, int tile, int v, const int n,
                       const vec y[OUTPUTS][OUTPUTS])
{
  const size_t pixel = (size_t)c->pixel_floats;
  const int first = tile * OUTPUTS;
  const int n_cols = c->n_cols - first < OUTPUTS ? c->n_cols - first : OUTPUTS;
  if (!c->pool) {
#pragma GCC unroll 4
    for (int row = 0; row < OUTPUTS; row++) {
      if (row == c->n_rows) break;
      float *out = c->rows[row] + (size_t)first * pixel + v;
#pragma GCC unroll 4
      for (int col = 0; col < OUTPUTS; col++)
        if (col < n_cols) vec_store_n(out + (size_t)col * pixel, y[row][col], n);
    }
    return;
  }
#pragma GCC unroll 2
  for (int row = 0; row < OUTPUTS; row += 2) {
    if (row >= c->n_rows) break;
    float *out = c->rows[row / 2] + (size_t)(first / 2) * pixel + v;
#pragma GCC unroll 2
    for (int col = 0; col < OUTPUTS; col += 2) {
      if (col >= n_cols) break;
      vec most = pool_vector(vec_all(-FLT_MAX), y[row][col]);
      if (col + 1 < n_cols) most = pool_vector(most, y[row][col + 1]);
      if (row + 1 < c->n_rows) {
        most = pool_vector(most, y[row + 1][col]);
        if (col + 1 < n_cols) most = pool_vector(most, y[row + 1][col + 1]);
      }
      vec_store_n(out + (size_t)(col / 2) * pixel, most, n);
    }
  }
}

/* One tile, one vector of n filters. */
INLINE void output_tile(const struct mafat_winograd_output_call *c, int tile, int v, const int n,
                        vec scale, vec bias)
{
  const float *values = c->values + (size_t)tile * (size_t)c->tile_floats + v;
  vec columns[WINDOW][OUTPUTS], y[OUTPUTS][OUTPUTS];
#pragma GCC unroll 6
  for (int x = 0; x < WINDOW; x++) {
    vec m[WINDOW];
#pragma GCC unroll 6
    for (int row = 0; row < WINDOW; row++)
      m[row] = vec_load_n(values + (size_t)(WINDOW * row + x) * c->point_floats, n);
    transform_output(m, columns[x]);
  }
#pragma GCC unroll 4
  for (int row = 0; row < OUTPUTS; row++) {
    vec m[WINDOW];
#pragma GCC unroll 6
    for (int x = 0; x < WINDOW; x++) m[x] = columns[x][row];
    transform_output(m, y[row]);
  }
  /* All sixteen in one place: the activation is chosen once a tile. */
#pragma GCC unroll 4
  for (int row = 0; row < OUTPUTS; row++)
#pragma GCC unroll 4
    for (int col = 0; col < OUTPUTS; col++) y[row][col] = vec_madd(y[row][col], scale, bias);
  activate_vectors(y[0], OUTPUTS * OUTPUTS, c->activation);
  store_tile(c, tile, v, n, (const vec(*)[OUTPUTS])y);
}

static void winograd_output(const struct mafat_winograd_output_call *c)
{
  for (int v = 0; v < c->n_filters; v += VECTOR_LANES) {
    const int n = c->n_filters - v;
    const vec scale = vec_load_panel(c->scale + v, n), bias = vec_load_panel(c->bias + v, n);
    for (int tile = 0; tile < c->n_tiles; tile++)
      if (n >= VECTOR_LANES) output_tile(c, tile, v, VECTOR_LANES, scale, bias);
      else output_tile(c, tile, v, n, scale, bias);
  }
}
