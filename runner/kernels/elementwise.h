/* Kernels without sums over channels: bound by memory, not arithmetic.
 * Included by bodies.h. */

INLINE void pool(const struct mafat_pool_call *c, bool mean)
{
  const size_t in_pixel = (size_t)c->in_pixel_floats;
  const int apart = c->taps.dilation;
  for (int col = 0; col < c->n_cols; col++) {
    int x0 = c->first_col + col * c->taps.stride, x1 = x0 + mafat_taps_reach(c->taps);
    if (x0 < c->in_begin) x0 += (c->in_begin - x0 + apart - 1) / apart * apart;
    if (x1 > c->in_end) x1 = c->in_end;
    float *out = c->out + (size_t)col * (size_t)c->out_pixel_floats;
    for (int v = 0; v < c->n_channels; v += VECTOR_LANES) {
      const int lanes = c->n_channels - v;
      vec pooled = vec_all(mean ? 0 : -FLT_MAX);
      for (int r = 0; r < c->n_rows; r++)
        for (int x = x0; x < x1; x += apart) {
          const vec in = vec_load_n(c->rows[r] + (size_t)x * in_pixel + v, lanes);
          pooled = mean ? vec_add(pooled, in) : vec_max(in, pooled);
        }
      vec_store_n(out + v, pooled, lanes);
    }
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

/* n floats side by side; without z, y = activation(x). */
static void blend_floats(const struct mafat_blend_call *c, const float *x, const float *z, float *y, int n)
{
  const bool simple = c->activation == MAFAT_LINEAR || c->activation == MAFAT_LEAKY || c->activation == MAFAT_RELU;
  for (int i = 0; i < n; i += VECTOR_LANES) {
    vec v = vec_load_n(x + i, n - i);
    if (z) v = blend_vectors(c, v, c->z_single ? vec_all(*z) : vec_load_n(z + i, n - i));
    if (simple) activate_vectors(&v, 1, c->activation);
    vec_store_n(y + i, v, n - i);
  }
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
