/* Kernels without sums over channels: bound by memory, not arithmetic.
 * Included by bodies.h. */

/* N vectors of one output's channels; the last has n more. Columns [x0, x1) of the window. */
INLINE void pool_vectors(const struct mafat_pool_call *c, int x0, int x1, int v, const int n, float *out, bool mean,
                         const int N)
{
  const size_t pixel = (size_t)c->in_pixel_floats, apart = pixel * (size_t)c->taps.dilation;
  vec pooled[4];
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) pooled[i] = vec_all(mean ? 0 : -FLT_MAX);
  for (int r = 0; r < c->n_rows; r++) {
    const float *in = c->rows[r] + (size_t)x0 * pixel + v;
    for (int x = x0; x < x1; x += c->taps.dilation, in += apart)
#pragma GCC unroll 4
      for (int i = 0; i < N; i++) {
        const vec next = vec_load_n(in + i * VECTOR_LANES, n);
        pooled[i] = mean ? vec_add(pooled[i], next) : vec_max(next, pooled[i]);
      }
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; i++) vec_store_n(out + v + i * VECTOR_LANES, pooled[i], n);
}

INLINE void pool(const struct mafat_pool_call *c, bool mean)
{
  enum { BLOCK = MAFAT_CHANNEL_BLOCK / VECTOR_LANES };
  const int apart = c->taps.dilation;
  for (int col = 0; col < c->n_cols; col++) {
    int x0 = c->first_col + col * c->taps.stride, x1 = x0 + mafat_taps_reach(c->taps), v = 0;
    if (x0 < c->in_begin) x0 += (c->in_begin - x0 + apart - 1) / apart * apart;
    if (x1 > c->in_end) x1 = c->in_end;
    float *out = c->out + (size_t)col * (size_t)c->out_pixel_floats;
    for (; v + BLOCK * VECTOR_LANES <= c->n_channels; v += BLOCK * VECTOR_LANES)
      pool_vectors(c, x0, x1, v, VECTOR_LANES, out, mean, BLOCK);
    for (; v + VECTOR_LANES <= c->n_channels; v += VECTOR_LANES)
      pool_vectors(c, x0, x1, v, VECTOR_LANES, out, mean, 1);
    if (v < c->n_channels) pool_vectors(c, x0, x1, v, c->n_channels - v, out, mean, 1);
    if (!mean) continue;
    const float taps = (float)(c->n_rows * ((x1 - x0 + apart - 1) / apart));
    for (int ch = 0; ch < c->n_channels; ch++) out[ch] /= taps;
  }
}

static void maxpool(const struct mafat_pool_call *c)
{
  pool(c, false);
}

static void avgpool(const struct mafat_pool_call *c)
{
  pool(c, true);
}

INLINE vec blend_vectors(const struct mafat_blend_call *c, vec x, vec z)
{
  if (c->blend == MAFAT_BLEND_MUL) return vec_mul(x, z);
  if (c->blend == MAFAT_BLEND_MAX) return vec_max(z, x);
  return vec_madd(vec_all(c->beta), z, vec_mul(vec_all(c->alpha), x));
}

INLINE void blend_lanes(const struct mafat_blend_call *c, const float *x, const float *z, float *y, const int n,
                        bool simple)
{
  vec v = vec_load_n(x, n);
  if (z) v = blend_vectors(c, v, c->z_single ? vec_all(*z) : vec_load_n(z, n));
  if (simple) activate_vectors(&v, 1, c->activation);
  vec_store_n(y, v, n);
}

/* n floats side by side; without z, y = activation(x). */
static void blend_floats(const struct mafat_blend_call *c, const float *x, const float *z, float *y, int n)
{
  const bool simple = c->activation == MAFAT_LINEAR || c->activation == MAFAT_LEAKY || c->activation == MAFAT_RELU;
  const int next = c->z_single ? 0 : VECTOR_LANES;
  int i = 0;
  for (const float *at = z; i + VECTOR_LANES <= n; i += VECTOR_LANES, at = at ? at + next : at)
    blend_lanes(c, x + i, at, y + i, VECTOR_LANES, simple);
  if (i < n) blend_lanes(c, x + i, z && !c->z_single ? z + i : z, y + i, n - i, simple);
  if (!simple) activate_array(y, (size_t)n, c->activation);
}

static void blend(const struct mafat_blend_call *c)
{
  const int n = c->n_channels;
  /* Where nothing lies between pixels, a row is one run. */
  if (c->x_pixel_floats == n && c->y_pixel_floats == n && (!c->z || (c->z_pixel_floats == n && !c->z_single))) {
    blend_floats(c, c->x, c->z, c->y, n * c->n_cols);
    return;
  }
  for (size_t col = 0; col < (size_t)c->n_cols; col++)
    blend_floats(c, c->x + col * (size_t)c->x_pixel_floats,
                 c->z ? c->z + col * (size_t)c->z_pixel_floats : NULL,
                 c->y + col * (size_t)c->y_pixel_floats, n);
}

static void scale_channels(const float *x, int x_pixel_floats, float *y, int y_pixel_floats,
                           int n_cols, int n_channels, const float *scale, const float *bias,
                           enum mafat_activation activation)
{
  for (int col = 0; col < n_cols; col++) {
    const float *from = x + (size_t)col * (size_t)x_pixel_floats;
    float *to = y + (size_t)col * (size_t)y_pixel_floats;
    for (int ch = 0; ch < n_channels; ch++) to[ch] = scalar_madd(from[ch], scale[ch], bias[ch]);
    activate_array(to, (size_t)n_channels, activation);
  }
}

static void softmax(const float *in, float *out, size_t n, float temperature)
{
  float largest = -FLT_MAX;
  double sum = 0; /* a float loses a digit over a thousand classes */
  for (size_t i = 0; i < n; i++)
    if (in[i] > largest) largest = in[i];
  for (size_t i = 0; i < n; i++) out[i] = exponential(in[i] / temperature - largest / temperature);
  for (size_t i = 0; i < n; i++) sum += out[i];
  for (size_t i = 0; i < n; i++) out[i] = (float)(out[i] / sum);
}
