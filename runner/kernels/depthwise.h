/* Kernel of depthwise convolution of floats: each channel separately, in vectors of channels. Reads
 * rows of inputs and writes rows of outputs; allocates nothing. Included by bodies.h; called by
 * runner/engine/kinds/conv_depthwise.c. */

enum {
  /* outputs in a tile: enough sums to hide the latency of a multiply-add, with registers left for
   * five weights and an input. Some tiles have DEPTHWISE_MOST outputs, if fewer tiles are then
   * needed, as for 10, 20, 26 ... columns */
  DEPTHWISE_PIXELS = 8,
  DEPTHWISE_MOST = 10,
  DEPTHWISE_SIZE = 5, /* largest usual window, see usual_size() */
  /* vectors of channels in a tile of a usual window; they share address registers */
  DEPTHWISE_VECTORS = VECTOR_MANY_REGISTERS ? 2 : 1
};

/* Scales, activates and stores P outputs of NV vectors of channels; n lanes of each are used. */
INLINE void finish_outputs(const struct mafat_depthwise_call *c, int row, int col, int v,
                           const int n, const int P, const int NV, vec *sum)
{
#pragma GCC unroll 2
  for (int i = 0; i < NV; i++) {
    const vec scale = vec_load_n(c->scale + v + i * VECTOR_LANES, n),
              bias = vec_load_n(c->bias + v + i * VECTOR_LANES, n);
#pragma GCC unroll 10
    for (int p = 0; p < P; p++) sum[p * NV + i] = vec_madd(sum[p * NV + i], scale, bias);
  }
  activate_vectors(sum, P * NV, &c->activation);
  const size_t pixel = (size_t)c->out_pixel_floats;
  float *out = c->out[row] + (size_t)col * pixel + v;
#pragma GCC unroll 10
  for (int p = 0; p < P; p++, out += pixel) {
    if (NV > 1) OPAQUE(out);
#pragma GCC unroll 2
    for (int i = 0; i < NV; i++) vec_store_n(out + i * VECTOR_LANES, sum[p * NV + i], n);
  }
}

/* Computes P outputs of a row for one vector of channels, with any window and stride. */
INLINE void depthwise_tile(const struct mafat_depthwise_call *c, int row, int col, int v,
                           const int n, const int P)
{
  const struct mafat_taps y_taps = c->window.y, x_taps = c->window.x;
  const size_t in_pixel = (size_t)c->in_pixel_floats, step = in_pixel * (size_t)x_taps.stride;
  const size_t apart = in_pixel * (size_t)x_taps.dilation;
  const float *w = c->weights + v;
  vec sum[DEPTHWISE_MOST];
#pragma GCC unroll 10
  for (int p = 0; p < P; p++) sum[p] = vec_all(0.0f);
  for (int ky = 0; ky < y_taps.size; ky++) {
    const float *in = c->rows[row * y_taps.stride + ky * y_taps.dilation] + (size_t)col * step + v;
    for (int kx = 0; kx < x_taps.size; kx++, w += c->width, in += apart) {
      vec weight = vec_load_n(w, n);
#pragma GCC unroll 10
      for (int p = 0; p < P; p++)
        sum[p] = vec_madd(vec_load_n(in + (size_t)p * step, n), weight, sum[p]);
    }
  }
  finish_outputs(c, row, col, v, n, P, 1, sum);
}

/* Adds one window row of SIZE contiguous taps to P sums. Each input column is loaded once for all
 * outputs that use it. Columns are `pixel` bytes apart. */
INLINE void depthwise_taps(vec *sum, const char *in, size_t pixel, const float *w, size_t width,
                           const int n, const int P, const int NV, const int SIZE, const int STRIDE)
{
  vec weights[DEPTHWISE_SIZE * DEPTHWISE_VECTORS], x[DEPTHWISE_VECTORS];
#pragma GCC unroll 5
  for (int kx = 0; kx < SIZE; kx++, w += width) {
    if (NV > 1) OPAQUE(w); /* compilers combine two loads if the address is in a register */
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) weights[kx * NV + v] = vec_load_n(w + v * VECTOR_LANES, n);
  }
#pragma GCC unroll 21
  for (int i = 0; i < (P - 1) * STRIDE + SIZE; i++, in += pixel) {
    if (NV > 1) OPAQUE(in);
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) x[v] = vec_load_n((const float *)in + v * VECTOR_LANES, n);
    if (NV == 1) OPAQUE(in); /* otherwise compilers load the input again for each sum */
#pragma GCC unroll 5
    for (int kx = 0; kx < SIZE; kx++) {
      const int p = (i - kx) / STRIDE;
      if (i < kx || (i - kx) % STRIDE || p >= P) continue;
#pragma GCC unroll 2
      for (int v = 0; v < NV; v++) vec_accumulate(&sum[p * NV + v], x[v], weights[kx * NV + v]);
    }
  }
}

/* Computes P outputs of SIZE x SIZE windows for NV vectors. */
INLINE void depthwise_tile_usual(const struct mafat_depthwise_call *c, int row, int col, int v,
                                 const int n, const int P, const int NV, const int SIZE,
                                 const int STRIDE)
{
  const struct mafat_taps y = c->window.y;
  const size_t pixel = (size_t)c->in_pixel_floats * sizeof(float), width = (size_t)c->width;
  const float *const *rows = c->rows + row * y.stride, *w = c->weights + v;
  vec sum[DEPTHWISE_MOST * DEPTHWISE_VECTORS];
#pragma GCC unroll 20
  for (int i = 0; i < P * NV; i++) sum[i] = vec_all(0.0f);
#pragma GCC unroll 5
  for (int ky = 0; ky < SIZE; ky++, w += SIZE * width)
    depthwise_taps(sum, (const char *)(rows[ky * y.dilation] + v) + (size_t)(col * STRIDE) * pixel,
                   pixel, w, width, n, P, NV, SIZE, STRIDE);
  finish_outputs(c, row, col, v, n, P, NV, sum);
}

/* Computes P outputs from column `col` on; SIZE and STRIDE are those of a usual window; SIZE 0: any
 * window. */
INLINE void depthwise_outputs(const struct mafat_depthwise_call *c, int row, int col, int v,
                              const int n, const int P, const int NV, const int SIZE,
                              const int STRIDE)
{
  if (SIZE) depthwise_tile_usual(c, row, col, v, n, P, NV, SIZE, STRIDE);
  else depthwise_tile(c, row, col, v, n, P);
}

/* Returns how many tiles have DEPTHWISE_MOST pixels, so that the row has the fewest tiles. The last
 * tile may overlap the one before. */
LEVEL_PART("depthwise") static int widest_tiles(int n_cols)
{
  int best = 0, fewest = mafat_divide_up(n_cols, DEPTHWISE_PIXELS);
  for (int most = 1; most * DEPTHWISE_MOST <= n_cols; most++) {
    const int n_tiles = most + mafat_divide_up(n_cols - most * DEPTHWISE_MOST, DEPTHWISE_PIXELS);
    if (n_tiles >= fewest) continue;
    fewest = n_tiles;
    best = most;
  }
  return best;
}

/* Computes outputs from column `col` on in tiles of P. The last tile may recompute some outputs,
 * because one or two outputs alone would take as long. Returns the column after the last output. */
INLINE int depthwise_tiles(const struct mafat_depthwise_call *c, int row, int col, int v,
                           const int n, const int P, const int NV, const int SIZE, const int STRIDE)
{
  const int end = c->n_cols - P;
  for (; col <= end; col += P) depthwise_outputs(c, row, col, v, n, P, NV, SIZE, STRIDE);
  if (end < 0 || col == c->n_cols) return col;
  depthwise_outputs(c, row, end, v, n, P, NV, SIZE, STRIDE);
  return c->n_cols;
}

/* Computes a row for NV vectors of n channels, with `most` tiles of DEPTHWISE_MOST pixels. */
INLINE void depthwise_row(const struct mafat_depthwise_call *c, int row, int v, const int n,
                          int most, const int NV, const int SIZE, const int STRIDE)
{
  int col = 0;
  /* partial vectors are rare, so there is less special code for them */
  if (n == VECTOR_LANES) {
    if (SIZE)
      for (; most > 0; most--, col += DEPTHWISE_MOST)
        depthwise_outputs(c, row, col, v, n, DEPTHWISE_MOST, NV, SIZE, STRIDE);
    col = depthwise_tiles(c, row, col, v, n, DEPTHWISE_PIXELS, NV, SIZE, STRIDE);
  }
  col = depthwise_tiles(c, row, col, v, n, 4, NV, SIZE, STRIDE);
  if (n == VECTOR_LANES) col = depthwise_tiles(c, row, col, v, n, 2, NV, SIZE, STRIDE);
  depthwise_tiles(c, row, col, v, n, 1, NV, SIZE, STRIDE);
}

/* Returns the window's size if it is usual, that is, has special code; else 0. */
LEVEL_PART("depthwise") static int usual_size(const struct mafat_window *w)
{
  const struct mafat_taps x = w->x;
  if (x.dilation != 1 || w->y.size != x.size) return 0;
  return (x.size == 3 && x.stride <= 2) || (x.size == 5 && x.stride == 1) ? x.size : 0;
}

INLINE void depthwise_vectors(const struct mafat_depthwise_call *c, int row, int v, const int n,
                              int most, const int NV, const int usual)
{
  const int stride = c->window.x.stride;
  if (usual == 3 && stride == 1) depthwise_row(c, row, v, n, most, NV, 3, 1);
  else if (usual == 3) depthwise_row(c, row, v, n, most, NV, 3, 2);
  else if (usual == 5 && n == VECTOR_LANES) depthwise_row(c, row, v, n, most, NV, 5, 1);
  else if (NV == 1) depthwise_row(c, row, v, n, most, 1, 0, 0);
}

LEVEL_PART("depthwise") static void depthwise(const struct mafat_depthwise_call *c)
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
  OPAQUE(c); /* otherwise compilers specialize every loop for each activation */
  const int usual = usual_size(&c->window), most = usual ? widest_tiles(c->n_cols) : 0;
  /* row by row, so that the next vector finds the input row in the first-level cache */
  for (int row = 0; row < c->n_rows; row++)
    for (int v = 0, n; v < c->n_channels; v += n) {
      const int left = c->n_channels - v,
                vectors = usual ? mafat_min(DEPTHWISE_VECTORS, left / VECTOR_LANES) : 1;
      n = mafat_max(vectors, 1) * VECTOR_LANES;
      if (vectors > 1) depthwise_vectors(c, row, v, VECTOR_LANES, most, DEPTHWISE_VECTORS, usual);
      else if (left >= VECTOR_LANES) depthwise_vectors(c, row, v, VECTOR_LANES, most, 1, usual);
      else depthwise_vectors(c, row, v, left, 0, 1, usual);
    }
}
