/* Float kernels without sums over channels: pooling, blends, scaling, softmax. Memory bounds their
 * speed. Included by bodies.h, which is compiled for each level; called by kinds in
 * runner/engine/kinds through struct mafat_kernels. Touches only its arguments. */

/* The part of a window that is inside the map: n_rows rows, and columns x0, x0 + apart, ... below
 * x1. */
struct pool_window {
  const float *const *rows;
  int n_rows, x0, x1, apart;
};

/* Pools a window for COUNT vectors of channels; the last vector has n lanes. */
INLINE void pool_lanes(const struct pool_window *w, size_t in_pixel, int v, float *out,
                       const int COUNT, const int n, const bool MEAN)
{
  vec pooled[SEGMENT_VECTORS];
#pragma GCC unroll 4
  for (int i = 0; i < COUNT; i++) pooled[i] = vec_all(MEAN ? 0 : -FLT_MAX);
  for (int r = 0; r < w->n_rows; r++) {
    const float *in = w->rows[r] + (size_t)w->x0 * in_pixel + v;
    for (int x = w->x0; x < w->x1; x += w->apart, in += (size_t)w->apart * in_pixel)
#pragma GCC unroll 4
      for (int i = 0; i < COUNT; i++) {
        const vec y = vec_load_n(in + i * VECTOR_LANES, i + 1 < COUNT ? VECTOR_LANES : n);
        pooled[i] = MEAN ? vec_add(pooled[i], y) : vec_max(y, pooled[i]);
      }
  }
#pragma GCC unroll 4
  for (int i = 0; i < COUNT; i++)
    vec_store_n(out + v + i * VECTOR_LANES, pooled[i], i + 1 < COUNT ? VECTOR_LANES : n);
}

/* Returns the number of taps that a mean divides by, including counted padding. */
INLINE int counted_taps(const struct mafat_pool_call *c, int first)
{
  const int begin = c->in_begin - c->padded_before, apart = c->taps.dilation;
  const int end = mafat_min(first + mafat_taps_reach(c->taps), c->in_end + c->padded_after);
  if (first < begin) first += (begin - first + apart - 1) / apart * apart;
  return (c->n_rows + c->padded_rows) * ((end - first + apart - 1) / apart);
}

INLINE void pool(const struct mafat_pool_call *call, const bool MEAN)
{
  const struct mafat_pool_call c = *call; /* a copy that stores cannot alias */
  const size_t in_pixel = (size_t)c.in_pixel_floats;
  struct pool_window w = {.rows = c.rows, .n_rows = c.n_rows, .apart = c.taps.dilation};
  for (int col = 0; col < c.n_cols; col++) {
    w.x0 = c.first_col + col * c.taps.stride;
    w.x1 = mafat_min(w.x0 + mafat_taps_reach(c.taps), c.in_end);
    if (w.x0 < c.in_begin) w.x0 += (c.in_begin - w.x0 + w.apart - 1) / w.apart * w.apart;
    float *out = c.out + (size_t)col * (size_t)c.out_pixel_floats;
    int v = 0;
    for (; v + MAFAT_CHANNEL_BLOCK <= c.n_channels; v += MAFAT_CHANNEL_BLOCK)
      pool_lanes(&w, in_pixel, v, out, SEGMENT_VECTORS, VECTOR_LANES, MEAN);
    for (; v + VECTOR_LANES <= c.n_channels; v += VECTOR_LANES)
      pool_lanes(&w, in_pixel, v, out, 1, VECTOR_LANES, MEAN);
    if (v < c.n_channels) pool_lanes(&w, in_pixel, v, out, 1, c.n_channels - v, MEAN);
    if (!MEAN) continue;
    const float taps = (float)counted_taps(&c, c.first_col + col * c.taps.stride);
    for (int ch = 0; ch < c.n_channels; ch++) out[ch] /= taps;
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

/* Loops for blends: copying and adding have their own, all other blends share one. */
enum blend_loop { BLEND_COPY, BLEND_ADD, BLEND_OTHER };

INLINE vec blend_vector(const struct mafat_blend_call *c, const float *x, const float *z, int n,
                        const enum blend_loop LOOP)
{
  const vec v = vec_load_n(x, n);
  if (LOOP == BLEND_COPY) return v;
  const vec w = LOOP == BLEND_OTHER && c->z_single ? vec_all(*z) : vec_load_n(z, n);
  if (LOOP == BLEND_ADD || c->blend == MAFAT_BLEND_ADD)
    return vec_madd(vec_all(c->beta), w, vec_mul(vec_all(c->alpha), v));
  switch (c->blend) {
  case MAFAT_BLEND_MUL: return vec_mul(v, w);
  case MAFAT_BLEND_MIN: return vec_min(w, v);
  case MAFAT_BLEND_DIV: return vec_div(v, w);
  case MAFAT_BLEND_RDIV: return vec_div(w, v);
  case MAFAT_BLEND_PRELU: return vec_madd(w, vec_min(v, vec_all(0.0f)), vec_max(v, vec_all(0.0f)));
  default: return vec_max(w, v);
  }
}

/* Blends COUNT vectors; the last one has n lanes. */
INLINE void blend_vectors(const struct mafat_blend_call *c, const float *x, const float *z,
                          float *y, int n, const int COUNT, const enum blend_loop LOOP,
                          const struct mafat_activating *activation)
{
  vec v[4];
#pragma GCC unroll 4
  for (int i = 0; i < COUNT; i++) {
    const int lanes = i + 1 < COUNT ? VECTOR_LANES : n;
    v[i] = blend_vector(c, x + i * VECTOR_LANES, z + i * VECTOR_LANES, lanes, LOOP);
  }
  activate_usual(v, COUNT, activation);
#pragma GCC unroll 4
  for (int i = 0; i < COUNT; i++)
    vec_store_n(y + i * VECTOR_LANES, v[i], i + 1 < COUNT ? VECTOR_LANES : n);
}

/* Blends n_pixels pixels of n floats each, whose distances are in the call. */
INLINE void blend_pixels(const struct mafat_blend_call *c, int n_pixels, int n,
                         const enum blend_loop LOOP)
{
  /* a copy that stores cannot alias */
  struct mafat_blend_call call = *c;
  call.activation = general_activation(c->activation);
  const struct mafat_activating linear = {.kind = MAFAT_LINEAR},
                                *usual = is_usual(&call.activation) ? &call.activation : &linear;
  const float *x = call.x, *z = LOOP == BLEND_COPY ? x : call.z;
  const int z_step = LOOP == BLEND_COPY ? 0 : call.z_pixel_floats;
  float *y = call.y;
  for (int p = 0; p < n_pixels;
       p++, x += call.x_pixel_floats, z += z_step, y += call.y_pixel_floats) {
    int i = 0;
    for (; LOOP != BLEND_OTHER && i + 4 * VECTOR_LANES <= n; i += 4 * VECTOR_LANES)
      blend_vectors(&call, x + i, z + i, y + i, VECTOR_LANES, 4, LOOP, usual);
    for (; i + VECTOR_LANES <= n; i += VECTOR_LANES)
      blend_vectors(&call, x + i, call.z_single ? z : z + i, y + i, VECTOR_LANES, 1, LOOP, usual);
    if (i < n) blend_vectors(&call, x + i, call.z_single ? z : z + i, y + i, n - i, 1, LOOP, usual);
    if (!is_usual(&call.activation)) activate_array(y, (size_t)n, call.activation);
  }
}

static void blend(const struct mafat_blend_call *c)
{
  struct mafat_blend_call activated;
  if (c->z && c->blend >= MAFAT_N_KERNEL_BLENDS) {
    mafat_functions_blend(c);
    activated = *c;
    activated.x = c->y;
    activated.x_pixel_floats = c->y_pixel_floats;
    activated.z = NULL;
    c = &activated;
  }
  int n = c->n_channels, n_pixels = c->n_cols;
  /* contiguous pixels of a row are blended as one pixel */
  if (c->x_pixel_floats == n && c->y_pixel_floats == n &&
      (!c->z || (c->z_pixel_floats == n && !c->z_single))) {
    n *= n_pixels;
    n_pixels = 1;
  }
  if (!c->z) blend_pixels(c, n_pixels, n, BLEND_COPY);
  else if (c->blend == MAFAT_BLEND_ADD && !c->z_single) blend_pixels(c, n_pixels, n, BLEND_ADD);
  else blend_pixels(c, n_pixels, n, BLEND_OTHER);
}

static void scale_channels(const float *x, int x_pixel_floats, float *y, int y_pixel_floats,
                           int n_cols, int n_channels, const float *scale, const float *bias,
                           struct mafat_activating activation)
{
  const struct mafat_activating general = general_activation(activation);
  const bool usual = is_usual(&general);
  for (int col = 0; col < n_cols; col++) {
    const float *from = x + (size_t)col * (size_t)x_pixel_floats;
    float *to = y + (size_t)col * (size_t)y_pixel_floats;
    int ch = 0;
    for (; ch + VECTOR_LANES <= n_channels; ch += VECTOR_LANES) {
      vec v = vec_madd(vec_load(from + ch), vec_load(scale + ch), vec_load(bias + ch));
      if (usual) activate_usual(&v, 1, &general);
      vec_store(to + ch, v);
    }
    if (ch < n_channels) {
      const int n = n_channels - ch;
      vec v =
          vec_madd(vec_load_n(from + ch, n), vec_load_n(scale + ch, n), vec_load_n(bias + ch, n));
      if (usual) activate_usual(&v, 1, &general);
      vec_store_n(to + ch, v, n);
    }
    if (!usual) activate_array(to, (size_t)n_channels, activation);
  }
}

static void softmax(const float *in, float *out, size_t n, float temperature)
{
  float largest = -FLT_MAX;
  double sum = 0; /* a float would lose a digit over a thousand classes */
  for (size_t i = 0; i < n; i++)
    if (in[i] > largest) largest = in[i];
  for (size_t i = 0; i < n; i++) out[i] = exponential(in[i] / temperature - largest / temperature);
  for (size_t i = 0; i < n; i++) sum += out[i];
  for (size_t i = 0; i < n; i++) out[i] = (float)(out[i] / sum);
}
