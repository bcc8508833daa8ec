/* Integer kernels without sums over channels: pooling, blends, tables, sums of pixels, quantizing
 * floats. Compilers vectorize the loops over the 16 channels of a block. Included by
 * integer_bodies.h; called by runner/engine/kinds/integer through struct mafat_integer_kernels.
 * Touches only its arguments. */

/* ---- pooling ---- */

/* Columns of an output's window that are inside the map. */
struct pool_span {
  int begin, end, step; /* columns, relative to the row pointers */
};

INLINE struct pool_span pool_columns(const struct mafat_integer_pool_call *c, int col)
{
  const int step = c->taps.dilation;
  int begin = c->first_col + col * c->taps.stride, end = begin + (c->taps.size - 1) * step + 1;
  while (begin < c->in_begin) begin += step;
  return (struct pool_span){begin, end < c->in_end ? end : c->in_end, step};
}

INLINE void pool_largest(const struct mafat_integer_pool_call *c, int col, const int n)
{
  const struct pool_span x = pool_columns(c, col);
  uint8_t most[MAFAT_CHANNEL_BLOCK] = {0}, *to = c->out + (size_t)col * (size_t)c->out_pixel_bytes;
  for (int row = 0; row < c->n_rows; row++)
    for (int at = x.begin; at < x.end; at += x.step) {
      const uint8_t *in = c->rows[row] + (ptrdiff_t)at * c->in_pixel_bytes;
      for (int i = 0; i < n; i++) most[i] = in[i] > most[i] ? in[i] : most[i];
    }
  for (int i = 0; i < n; i++) {
    uint8_t y = most[i] > c->to.least ? most[i] : c->to.least;
    to[i] = y < c->to.most ? y : c->to.most;
  }
}

static void maxpool(const struct mafat_integer_pool_call *c)
{
  if (c->n_channels == MAFAT_CHANNEL_BLOCK)
    for (int col = 0; col < c->n_cols; col++) pool_largest(c, col, MAFAT_CHANNEL_BLOCK);
  else
    for (int col = 0; col < c->n_cols; col++) pool_largest(c, col, c->n_channels);
}

/* Computes a mean by ONNX's rule: in floats, rounded to the nearest integer, ties to even. */
INLINE void pool_mean_even(const struct mafat_integer_pool_call *c, int col, const int n)
{
  const struct pool_span x = pool_columns(c, col);
  float sums[MAFAT_CHANNEL_BLOCK] = {0}, count = 0;
  for (int row = 0; row < c->n_rows; row++)
    for (int at = x.begin; at < x.end; at += x.step, count++) {
      const uint8_t *in = c->rows[row] + (ptrdiff_t)at * c->in_pixel_bytes;
      for (int i = 0; i < n; i++) sums[i] += (float)(in[i] - c->in_zero) * c->in_scale;
    }
  uint8_t *to = c->out + (size_t)col * (size_t)c->out_pixel_bytes;
  for (int i = 0; i < n; i++) to[i] = mafat_put_even(&c->to, sums[i] / count / c->to.scale);
}

enum { MANY = 1 << 14 };

/* Returns sum / count, with ties rounded away from 0. For at most MANY taps, the truncated float
 * quotient is exact. */
INLINE int32_t mean_of_few(int32_t sum, int32_t count)
{
  const int32_t half = count / 2;
  return (int32_t)((float)(sum > 0 ? sum + half : sum - half) / (float)count);
}

static int32_t mean_of_many(int64_t sum, int32_t count)
{
  const int32_t half = count / 2;
  return (int32_t)((sum > 0 ? sum + half : sum - half) / count);
}

INLINE void pool_mean(const struct mafat_integer_pool_call *c, int col, const int n)
{
  const struct pool_span x = pool_columns(c, col);
  const int from = c->from_signed ? 128 : 0;
  uint32_t sums[MAFAT_CHANNEL_BLOCK] = {0}; /* below 2^32 even for 4096 x 4096 taps, the maximum */
  int32_t count = 0;
  for (int row = 0; row < c->n_rows; row++)
    for (int at = x.begin; at < x.end; at += x.step, count++) {
      const uint8_t *in = c->rows[row] + (ptrdiff_t)at * c->in_pixel_bytes;
      for (int i = 0; i < n; i++) sums[i] += in[i];
    }
  uint8_t *to = c->out + (size_t)col * (size_t)c->out_pixel_bytes;
  for (int i = 0; i < n; i++) {
    const int32_t mean = (count <= MANY ? mean_of_few((int32_t)sums[i] - from * count, count)
                                        : mean_of_many(sums[i] - (int64_t)from * count, count)) +
                         from;
    const int32_t y = mean > c->to.least ? mean : c->to.least;
    to[i] = (uint8_t)(y < c->to.most ? y : c->to.most);
  }
}

static void avgpool(const struct mafat_integer_pool_call *c)
{
  if (c->to.rounding == MAFAT_REQUANTIZE_EVEN && c->n_channels == MAFAT_CHANNEL_BLOCK)
    for (int col = 0; col < c->n_cols; col++) pool_mean_even(c, col, MAFAT_CHANNEL_BLOCK);
  else if (c->to.rounding == MAFAT_REQUANTIZE_EVEN)
    for (int col = 0; col < c->n_cols; col++) pool_mean_even(c, col, c->n_channels);
  else if (c->n_channels == MAFAT_CHANNEL_BLOCK)
    for (int col = 0; col < c->n_cols; col++) pool_mean(c, col, MAFAT_CHANNEL_BLOCK);
  else
    for (int col = 0; col < c->n_cols; col++) pool_mean(c, col, c->n_channels);
}

/* ---- blends ---- */

struct blend {
  ivec x_zero, z_zero;
  struct rescale x, z, result;
  fvec x_factor, z_factor, factor;
  struct integer_bounds bounds;
};

/* Prepares zero points, bounds and the factors of one rule: ONNX's floats (`even`), or TFLite's
 * multipliers and shifts. */
static void blend_prepare(struct blend *b, const struct mafat_integer_blend_call *c, bool even)
{
  b->x_zero = ivec_all(c->x_zero);
  b->z_zero = ivec_all(c->z_zero);
  b->bounds = bounds_of(&c->to);
  if (even) {
    b->x_factor = fvec_all(c->x_factor);
    b->z_factor = fvec_all(c->z_factor);
    b->factor = fvec_all(c->factor);
  } else {
    b->x = rescale_of(ivec_all(c->x_scale.multiplier), ivec_all(c->x_scale.shift));
    b->z = rescale_of(ivec_all(c->z_scale.multiplier), ivec_all(c->z_scale.shift));
    b->result = rescale_of(ivec_all(c->scale.multiplier), ivec_all(c->scale.shift));
  }
}

/* Blends by ONNX's rule; zero points are already subtracted from x and z. */
INLINE ivec blend_even(const struct blend *b, ivec x, ivec z, const enum mafat_blend kind)
{
  fvec y;
  if (kind == MAFAT_BLEND_ADD) {
    y = fvec_of(x) * b->x_factor + fvec_of(z) * b->z_factor;
  } else {
    const ivec negative = x < 0;
    y = fvec_of(x * z) * b->factor;
    if (kind == MAFAT_BLEND_PRELU)
      y = (fvec)(((ivec)y & negative) | ((ivec)(fvec_of(x) * b->x_factor) & ~negative));
  }
  return bounds_nearest(y, &b->bounds);
}

INLINE ivec blend_vector(const struct blend *b, ivec x, ivec z, const enum mafat_blend kind,
                         bool subtract, bool even)
{
  enum { FINER = 20 }; /* fraction bits of sums */
  x -= b->x_zero;
  z -= b->z_zero;
  if (even) return blend_even(b, x, z, kind);
  if (kind == MAFAT_BLEND_ADD) {
    x = rescale_vector(x << FINER, &b->x);
    z = rescale_vector(z << FINER, &b->z);
    x = rescale_vector(subtract ? x - z : x + z, &b->result);
  } else if (kind == MAFAT_BLEND_MUL) {
    x = rescale_vector(x * z, &b->result);
  } else {
    const ivec negative = x < 0;
    x = (rescale_vector(x * z, &b->result) & negative) | (rescale_vector(x, &b->x) & ~negative);
  }
  return bounds_put(x, &b->bounds);
}

/* Blends n bytes. */
INLINE void blend_run(const struct blend *b, const struct mafat_integer_blend_call *c,
                      const uint8_t *x, const uint8_t *z, uint8_t *y, int n,
                      const enum mafat_blend kind, bool subtract, bool even)
{
  for (; n > 0; n -= IVEC_LANES, x += IVEC_LANES, y += IVEC_LANES) {
    const int lanes = n < IVEC_LANES ? n : IVEC_LANES;
    const ivec other = c->z_single ? ivec_all(*z) : ivec_widen(z, lanes);
    if (lanes == IVEC_LANES)
      ivec_narrow(y, blend_vector(b, ivec_widen(x, IVEC_LANES), other, kind, subtract, even),
                  IVEC_LANES);
    else ivec_narrow(y, blend_vector(b, ivec_widen(x, lanes), other, kind, subtract, even), lanes);
    if (!c->z_single) z += IVEC_LANES;
  }
}

INLINE void blend_pixels(const struct blend *b, const struct mafat_integer_blend_call *c,
                         const enum mafat_blend kind, bool subtract, bool even)
{
  const int n = c->n_channels;
  /* contiguous pixels of a row are one run */
  if (c->x_pixel_bytes == n && c->z_pixel_bytes == n && c->y_pixel_bytes == n && !c->z_single) {
    blend_run(b, c, c->x, c->z, c->y, n * c->n_cols, kind, subtract, even);
    return;
  }
  const uint8_t *x = c->x, *z = c->z;
  uint8_t *y = c->y;
  for (int col = 0; col < c->n_cols;
       col++, x += c->x_pixel_bytes, z += c->z_pixel_bytes, y += c->y_pixel_bytes)
    blend_run(b, c, x, z, y, n, kind, subtract, even);
}

/* Blends a row. By ONNX's rule, a subtracted input has a negative factor, and `subtract` is not
 * used. */
static void blend(const struct mafat_integer_blend_call *c)
{
  struct blend b = {0};
  const bool even = c->to.rounding == MAFAT_REQUANTIZE_EVEN;
  blend_prepare(&b, c, even);
  switch (c->blend) {
  case MAFAT_BLEND_ADD: blend_pixels(&b, c, MAFAT_BLEND_ADD, c->subtract, even); break;
  case MAFAT_BLEND_MUL: blend_pixels(&b, c, MAFAT_BLEND_MUL, false, even); break;
  default: blend_pixels(&b, c, MAFAT_BLEND_PRELU, false, even); break;
  }
}

/* ---- bytes ---- */

static void table_bytes(const uint8_t *x, int x_pixel_bytes, uint8_t *y, int y_pixel_bytes,
                        int n_cols, int n_channels, const uint8_t *table)
{
  if (x_pixel_bytes == n_channels && y_pixel_bytes == n_channels) {
    n_channels *= n_cols;
    n_cols = 1;
  }
#ifdef IVEC_TABLES
  if (ivec_has_tables() && n_cols == 1) {
    ivec_tables(x, y, n_channels, table, UINT64_MAX);
    return;
  }
  if (ivec_has_tables() && x_pixel_bytes == y_pixel_bytes && 64 % x_pixel_bytes == 0) {
    uint64_t lanes = 0;
    for (int pixel = 0; pixel < 64; pixel += x_pixel_bytes)
      lanes |= ((UINT64_C(1) << n_channels) - 1) << pixel;
    ivec_tables(x, y, (n_cols - 1) * x_pixel_bytes + n_channels, table, lanes);
    return;
  }
#endif
  for (int col = 0; col < n_cols; col++, x += x_pixel_bytes, y += y_pixel_bytes) {
    int i = 0;
#ifdef IVEC_TABLE
    for (; i + IVEC_TABLE <= n_channels; i += IVEC_TABLE) ivec_table(x + i, y + i, table);
#endif
    for (; i < n_channels; i++) y[i] = table[x[i]];
  }
}

static void add_pixels(const uint8_t *x, int pixel_bytes, int n_cols, int n_channels, int32_t *sums)
{
  for (int col = 0; col < n_cols; col++, x += pixel_bytes)
    if (n_channels == MAFAT_CHANNEL_BLOCK)
      for (int i = 0; i < MAFAT_CHANNEL_BLOCK; i++) sums[i] += x[i];
    else
      for (int i = 0; i < n_channels; i++) sums[i] += x[i];
}

/* Quantizes like mafat_quantization_number. First clamps to -512 ... 512 steps: larger values are
 * outside a byte's range with any zero point. */
INLINE ivec reals_vector(fvec x, const struct mafat_quantization *q, bool even)
{
  const fvec magic = fvec_all(0x1.8p23f); /* adding it rounds to an integer */
  const fvec most = fvec_all(512);
  fvec steps = x / q->scale;
  ivec inside = steps > -most;
  steps = (fvec)(((ivec)steps & inside) | ((ivec)-most & ~inside));
  inside = steps < most;
  steps = (fvec)(((ivec)steps & inside) | ((ivec)most & ~inside));
  ivec whole = __builtin_convertvector(steps, ivec);
  const fvec rest = steps - fvec_of(whole);
  if (even) whole = __builtin_convertvector((steps + magic) - magic, ivec);
  else whole += (rest <= -0.5f) - (rest >= 0.5f);
  whole = ivec_min(ivec_max(whole + q->zero, ivec_all(0)), ivec_all(255));
  return (whole & (x == x)) | (ivec_all(q->least) & (x != x));
}

static void reals(const struct mafat_quantization *q, const float *from, uint8_t *to, int n)
{
  const bool even = q->rounding == MAFAT_REQUANTIZE_EVEN;
  for (int i = 0; i < n; i += IVEC_LANES) {
    const int lanes = mafat_min(n - i, IVEC_LANES);
    fvec x = fvec_all(0);
    if (lanes == IVEC_LANES) memcpy(&x, from + i, sizeof x);
    else memcpy(&x, from + i, (size_t)lanes * sizeof *from);
    if (lanes == IVEC_LANES) ivec_narrow(to + i, reals_vector(x, q, even), IVEC_LANES);
    else ivec_narrow(to + i, reals_vector(x, q, even), lanes);
  }
}
