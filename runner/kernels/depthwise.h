/* Depthwise convolution: each channel by itself, vectors of channels. Included by
 * bodies.h. */

enum {
  /* Outputs in a tile: as many sums as hide the latency of a multiply-add, beside
   * a row of the window and its weights in the registers. */
  DEPTHWISE_PIXELS = VECTOR_PIXELS >= 14 ? 8 : 4
};

/* Ends P sums and stores them. */
INLINE void finish_outputs(const struct mafat_depthwise_call *c, int row, int col, int v, const int n,
                           const int P, vec *sum)
{
  const vec scale = vec_load_n(c->scale + v, n), bias = vec_load_n(c->bias + v, n);
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) sum[p] = vec_madd(sum[p], scale, bias);
  activate_vectors(sum, P, c->activation);
  float *out = c->out[row] + (size_t)col * (size_t)c->out_pixel_floats + v;
#pragma GCC unroll 8
  for (int p = 0; p < P; p++, out += c->out_pixel_floats) vec_store_n(out, sum[p], n);
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

/* The usual case, 3x3: a window's columns, side by side, are loaded once for all
 * outputs that see them. */
INLINE void depthwise_tile3(const struct mafat_depthwise_call *c, int row, int col, int v, const int n,
                            const int P, const int STRIDE)
{
  const size_t in_pixel = (size_t)c->in_pixel_floats;
  vec sum[DEPTHWISE_PIXELS];
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) sum[p] = vec_all(0.0f);
#pragma GCC unroll 3
  for (int ky = 0; ky < 3; ky++) {
    const float *in = c->rows[row * c->window.y.stride + ky * c->window.y.dilation] + (size_t)(col * STRIDE) * in_pixel + v;
    const float *w = c->weights + 3 * ky * c->width + v;
    const vec w0 = vec_load_n(w, n), w1 = vec_load_n(w + c->width, n), w2 = vec_load_n(w + 2 * c->width, n);
    vec x[(DEPTHWISE_PIXELS - 1) * 2 + 3];
#pragma GCC unroll 17
    for (int i = 0; i < (P - 1) * STRIDE + 3; i++) x[i] = vec_load_n(in + (size_t)i * in_pixel, n);
#pragma GCC unroll 8
    for (int p = 0; p < P; p++) {
      sum[p] = vec_madd(x[p * STRIDE], w0, sum[p]);
      sum[p] = vec_madd(x[p * STRIDE + 1], w1, sum[p]);
      sum[p] = vec_madd(x[p * STRIDE + 2], w2, sum[p]);
    }
  }
  finish_outputs(c, row, col, v, n, P, sum);
}

/* P outputs from column `col` on; STRIDE: of the columns of a usual window, 0 for any other. */
INLINE void depthwise_outputs(const struct mafat_depthwise_call *c, int row, int col, int v, const int n,
                              const int P, const int STRIDE)
{
  if (STRIDE) depthwise_tile3(c, row, col, v, n, P, STRIDE);
  else depthwise_tile(c, row, col, v, n, P);
}

/* All rows for one vector of n channels. */
INLINE void depthwise_rows(const struct mafat_depthwise_call *c, int v, const int n, const int STRIDE)
{
  for (int row = 0; row < c->n_rows; row++) {
    int col = 0;
    for (; col + DEPTHWISE_PIXELS <= c->n_cols; col += DEPTHWISE_PIXELS)
      depthwise_outputs(c, row, col, v, n, DEPTHWISE_PIXELS, STRIDE);
    for (; col + 4 <= c->n_cols; col += 4) depthwise_outputs(c, row, col, v, n, 4, STRIDE);
    for (; col + 2 <= c->n_cols; col += 2) depthwise_outputs(c, row, col, v, n, 2, STRIDE);
    if (col < c->n_cols) depthwise_outputs(c, row, col, v, n, 1, STRIDE);
  }
}

INLINE void depthwise_vector(const struct mafat_depthwise_call *c, int v, const int n)
{
  const struct mafat_taps x = c->window.x;
  const bool usual = c->window.y.size == 3 && x.size == 3 && x.dilation == 1;
  if (usual && x.stride == 1) depthwise_rows(c, v, n, 1);
  else if (usual && x.stride == 2) depthwise_rows(c, v, n, 2);
  else depthwise_rows(c, v, n, 0);
}

static void depthwise(const struct mafat_depthwise_call *c)
{
#ifdef LEVEL_NARROW
  if (c->n_channels <= MAFAT_NARROW_FILTERS) {
    LEVEL_NARROW.depthwise(c);
    return;
  }
#endif
  for (int v = 0; v < c->n_channels; v += VECTOR_LANES)
    if (v + VECTOR_LANES <= c->n_channels) depthwise_vector(c, v, VECTOR_LANES);
    else depthwise_vector(c, v, c->n_channels - v);
}
