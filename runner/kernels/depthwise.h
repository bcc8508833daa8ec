/* Depthwise convolution: each channel by itself, vectors of channels. Included by
 * bodies.h. */

enum {
  /* Outputs in a tile: as many sums as hide the latency of a multiply-add, beside five weights
   * and an input in the registers. */
  DEPTHWISE_PIXELS = 8,
  DEPTHWISE_SIZE = 5 /* of the usual windows, at most */
};

/* Ends P sums and stores them. */
INLINE void finish_outputs(const struct mafat_depthwise_call *c, int row, int col, int v, const int n,
                           const int P, vec *sum)
{
  const vec scale = vec_load_n(c->scale + v, n), bias = vec_load_n(c->bias + v, n);
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) sum[p] = vec_madd(sum[p], scale, bias);
  activate_vectors(sum, P, &c->activation);
  const size_t pixel = (size_t)c->out_pixel_floats;
  float *out = c->out[row] + (size_t)col * pixel + v;
#pragma GCC unroll 8
  for (int p = 0; p < P; p++, out += pixel) vec_store_n(out, sum[p], n);
}

/* P outputs of a row for one vector of channels, any window and stride. */
INLINE void depthwise_tile(const struct mafat_depthwise_call *c, int row, int col, int v, const int n,
                           const int P)
{
  const struct mafat_taps y_taps = c->window.y, x_taps = c->window.x;
  const size_t in_pixel = (size_t)c->in_pixel_floats, step = in_pixel * (size_t)x_taps.stride;
  const size_t apart = in_pixel * (size_t)x_taps.dilation;
  const float *w = c->weights + v;
  vec sum[DEPTHWISE_PIXELS];
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) sum[p] = vec_all(0.0f);
  for (int ky = 0; ky < y_taps.size; ky++) {
    const float *in = c->rows[row * y_taps.stride + ky * y_taps.dilation] + (size_t)col * step + v;
    for (int kx = 0; kx < x_taps.size; kx++, w += c->width, in += apart) {
      vec weight = vec_load_n(w, n);
#pragma GCC unroll 8
      for (int p = 0; p < P; p++) sum[p] = vec_madd(vec_load_n(in + (size_t)p * step, n), weight, sum[p]);
    }
  }
  finish_outputs(c, row, col, v, n, P, sum);
}

/* Adds a row of the usual windows, SIZE taps side by side, to P sums: each of its columns is loaded once for
 * all outputs that see it. Columns are `pixel` bytes apart. */
INLINE void depthwise_taps(vec *sum, const char *in, size_t pixel, const float *w, size_t width, const int n,
                           const int P, const int SIZE, const int STRIDE)
{
  vec weights[DEPTHWISE_SIZE];
#pragma GCC unroll 5
  for (int kx = 0; kx < SIZE; kx++) weights[kx] = vec_load_n(w + (size_t)kx * width, n);
#pragma GCC unroll 19
  for (int i = 0; i < (P - 1) * STRIDE + SIZE; i++, in += pixel) {
    const vec x = vec_load_n((const float *)in, n);
    OPAQUE(in);
#pragma GCC unroll 5
    for (int kx = 0; kx < SIZE; kx++) {
      const int p = (i - kx) / STRIDE;
      if (i >= kx && (i - kx) % STRIDE == 0 && p < P) vec_accumulate(&sum[p], x, weights[kx]);
    }
  }
}

/* P outputs of SIZE x SIZE windows. */
INLINE void depthwise_tile_usual(const struct mafat_depthwise_call *c, int row, int col, int v, const int n,
                                 const int P, const int SIZE, const int STRIDE)
{
  const struct mafat_taps y = c->window.y;
  const size_t pixel = (size_t)c->in_pixel_floats * sizeof(float), width = (size_t)c->width;
  const float *const *rows = c->rows + row * y.stride, *w = c->weights + v;
  vec sum[DEPTHWISE_PIXELS];
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) sum[p] = vec_all(0.0f);
#pragma GCC unroll 5
  for (int ky = 0; ky < SIZE; ky++, w += SIZE * width)
    depthwise_taps(sum, (const char *)(rows[ky * y.dilation] + v) + (size_t)(col * STRIDE) * pixel, pixel, w, width, n, P,
                   SIZE, STRIDE);
  finish_outputs(c, row, col, v, n, P, sum);
}

/* P outputs from column `col` on; SIZE, STRIDE: of a usual window, SIZE 0 for any other. */
INLINE void depthwise_outputs(const struct mafat_depthwise_call *c, int row, int col, int v, const int n,
                              const int P, const int SIZE, const int STRIDE)
{
  if (SIZE) depthwise_tile_usual(c, row, col, v, n, P, SIZE, STRIDE);
  else depthwise_tile(c, row, col, v, n, P);
}

/* A row for one vector of n channels. */
INLINE void depthwise_row(const struct mafat_depthwise_call *c, int row, int v, const int n, const int SIZE,
                          const int STRIDE)
{
  int col = 0;
  /* Parts of a vector are rare: less code for them. */
  if (n == VECTOR_LANES)
    for (; col + DEPTHWISE_PIXELS <= c->n_cols; col += DEPTHWISE_PIXELS)
      depthwise_outputs(c, row, col, v, n, DEPTHWISE_PIXELS, SIZE, STRIDE);
  for (; col + 4 <= c->n_cols; col += 4) depthwise_outputs(c, row, col, v, n, 4, SIZE, STRIDE);
  if (n == VECTOR_LANES)
    for (; col + 2 <= c->n_cols; col += 2) depthwise_outputs(c, row, col, v, n, 2, SIZE, STRIDE);
  for (; col < c->n_cols; col++) depthwise_outputs(c, row, col, v, n, 1, SIZE, STRIDE);
}

INLINE void depthwise_vector(const struct mafat_depthwise_call *c, int row, int v, const int n)
{
  const struct mafat_taps x = c->window.x;
  const int usual = x.dilation == 1 && c->window.y.size == x.size ? x.size : 0;
  if (usual == 3 && x.stride == 1) depthwise_row(c, row, v, n, 3, 1);
  else if (usual == 3 && x.stride == 2) depthwise_row(c, row, v, n, 3, 2);
  else if (usual == 5 && x.stride == 1 && n == VECTOR_LANES) depthwise_row(c, row, v, n, 5, 1);
  else depthwise_row(c, row, v, n, 0, 0);
}

static void depthwise(const struct mafat_depthwise_call *c)
{
#ifdef LEVEL_NARROW
  if (c->n_channels <= MAFAT_NARROW_FILTERS) {
    LEVEL_NARROW.depthwise(c);
    return;
  }
#endif
  struct mafat_depthwise_call call = *c;
  call.activation = general_activation(c->activation);
  c = &call;
  OPAQUE(c); /* or the compiler makes every loop once for each activation */
  /* Row by row: the next vector finds the row's input in the first-level cache. */
  for (int row = 0; row < c->n_rows; row++)
    for (int v = 0; v < c->n_channels; v += VECTOR_LANES)
      if (v + VECTOR_LANES <= c->n_channels) depthwise_vector(c, row, v, VECTOR_LANES);
      else depthwise_vector(c, row, v, c->n_channels - v);
}
