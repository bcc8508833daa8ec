/* Depthwise convolution: taps of two rows are multiplied together, as pairs of 16 bits. What a column of the input reads of
 * two rows serves all outputs that see it. Included by integer_bodies.h. */

enum {
  DEPTHWISE_PIXELS = IVEC_LANES == 16 ? 8 : 4,
  DEPTHWISE_PAIRS = 48 /* of a window, at most: taps of two rows */
};

/* Some channels of a call. */
struct depthwise_part {
  const struct mafat_integer_depthwise_call *c;
  int first, n;               /* channels */
  ivec pairs[DEPTHWISE_PAIRS]; /* weights of rows 2i and 2i + 1: [i][kx] */
  ivec bias;
  struct rescale rescale;
  struct bounds bounds;
};

INLINE ivec depthwise_weights(const struct depthwise_part *d, int ky, int kx)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const int8_t *w = c->weights + (size_t)(ky * c->window.x.size + kx) * (size_t)c->width + d->first;
  const ivec bytes = ivec_widen((const uint8_t *)w, d->n >= IVEC_LANES ? IVEC_LANES : d->n);
  return (bytes << 24 >> 24) - c->weights_zero;
}

/* Of the part's channels: what lies behind them may not be there. */
INLINE ivec depthwise_lanes(const struct depthwise_part *d, const int32_t *row)
{
  if (d->n >= IVEC_LANES) return ivec_load(row + d->first);
  int32_t lanes[IVEC_LANES];
  for (int i = 0; i < IVEC_LANES; i++) lanes[i] = i < d->n ? row[d->first + i] : 0;
  return ivec_load(lanes);
}

static void depthwise_prepare(struct depthwise_part *d)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps x = c->window.x, y = c->window.y;
  for (int ky = 0; ky < y.size; ky += 2)
    for (int kx = 0; kx < x.size; kx++) {
      ivec low = depthwise_weights(d, ky, kx), high = ky + 1 < y.size ? depthwise_weights(d, ky + 1, kx) : ivec_all(0);
      d->pairs[ky / 2 * x.size + kx] = (low & 0xffff) | high << 16;
    }
  d->bias = depthwise_lanes(d, c->to.bias);
  rescale_prepare(&d->rescale, depthwise_lanes(d, c->to.multipliers), depthwise_lanes(d, c->to.shifts));
  rescale_choose(&d->rescale, &c->to.out);
  d->bounds = bounds_of(&c->to.out);
}

/* Of rows 2i and 2i + 1: the first's numbers in the lower halves. The second may not exist. */
INLINE ivec depthwise_pair(const uint8_t *one, const uint8_t *other, size_t at, int n)
{
  const ivec low = ivec_widen(one + at, n);
  return other ? low | ivec_widen(other + at, n) << 16 : low;
}

/* P outputs side by side; SIZE and STRIDE of columns are known to the compiler, or 0. */
INLINE void depthwise_outputs(const struct depthwise_part *d, int row, int col, const int n, const int P, const int SIZE,
                              const int STRIDE, const enum rescale_way way)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps x = c->window.x, y = c->window.y;
  const size_t pixel = (size_t)c->in_pixel_bytes;
  ivec sum[DEPTHWISE_PIXELS] = {0}; /* so that no compiler asks */
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) sum[p] = d->bias;
  const ivec *w = d->pairs;
  for (int ky = 0; ky < y.size; ky += 2, w += x.size) {
    const uint8_t *const *rows = c->rows + row * y.stride + ky * y.dilation;
    const size_t at = (size_t)(col * x.stride) * pixel + (size_t)d->first;
    const uint8_t *one = rows[0] + at, *other = ky + 1 < y.size ? rows[y.dilation] + at : NULL;
    if (SIZE) {
#pragma GCC unroll 20
      for (int j = 0; j < (P - 1) * STRIDE + SIZE; j++) {
        const ivec in = depthwise_pair(one, other, (size_t)j * pixel, n);
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
          const int kx = j - p * STRIDE;
          if (kx >= 0 && kx < SIZE) sum[p] = ivec_pairs(sum[p], in, w[kx]);
        }
      }
    } else {
      for (int kx = 0; kx < x.size; kx++)
        sum[0] = ivec_pairs(sum[0], depthwise_pair(one, other, (size_t)(kx * x.dilation) * pixel, n), w[kx]);
    }
  }
  uint8_t *to = c->out[row] + (size_t)col * (size_t)c->out_pixel_bytes + d->first;
#pragma GCC unroll 8
  for (int p = 0; p < P; p++, to += c->out_pixel_bytes)
    ivec_narrow(to, rescale_put(sum[p], &d->rescale, &d->bounds, way), n);
}

INLINE void depthwise_row(const struct depthwise_part *d, int row, const int n, const int SIZE, const int STRIDE,
                          const enum rescale_way way)
{
  int col = 0;
  if (SIZE) {
    for (; col + DEPTHWISE_PIXELS <= d->c->n_cols; col += DEPTHWISE_PIXELS)
      depthwise_outputs(d, row, col, n, DEPTHWISE_PIXELS, SIZE, STRIDE, way);
    if (col + DEPTHWISE_PIXELS / 2 <= d->c->n_cols) {
      depthwise_outputs(d, row, col, n, DEPTHWISE_PIXELS / 2, SIZE, STRIDE, way);
      col += DEPTHWISE_PIXELS / 2;
    }
  }
  for (; col < d->c->n_cols; col++) depthwise_outputs(d, row, col, n, 1, SIZE, STRIDE, way);
}

static void depthwise_part(const struct depthwise_part *d)
{
  const struct mafat_taps x = d->c->window.x;
  const bool usual = x.size == 3 && x.dilation == 1 && d->n >= IVEC_LANES;
  const enum rescale_way way = d->rescale.way;
  for (int row = 0; row < d->c->n_rows; row++)
    if (usual && x.stride == 1 && way == RESCALE_POSITIVE) depthwise_row(d, row, IVEC_LANES, 3, 1, RESCALE_POSITIVE);
    else if (usual && x.stride == 1 && way == RESCALE_SUM) depthwise_row(d, row, IVEC_LANES, 3, 1, RESCALE_SUM);
    else if (usual && x.stride == 2 && way == RESCALE_POSITIVE) depthwise_row(d, row, IVEC_LANES, 3, 2, RESCALE_POSITIVE);
    else if (usual && x.stride == 2 && way == RESCALE_SUM) depthwise_row(d, row, IVEC_LANES, 3, 2, RESCALE_SUM);
    else if (usual && x.stride == 1 && way == RESCALE_EVEN) depthwise_row(d, row, IVEC_LANES, 3, 1, RESCALE_EVEN);
    else if (usual && x.stride == 2 && way == RESCALE_EVEN) depthwise_row(d, row, IVEC_LANES, 3, 2, RESCALE_EVEN);
    else if (way == RESCALE_EVEN) depthwise_row(d, row, d->n, 0, 0, RESCALE_EVEN);
    else if (d->n >= IVEC_LANES && way == RESCALE_POSITIVE) depthwise_row(d, row, IVEC_LANES, 0, 0, RESCALE_POSITIVE);
    else if (way == RESCALE_ANY) depthwise_row(d, row, d->n, 0, 0, RESCALE_ANY);
    else depthwise_row(d, row, d->n, 0, 0, RESCALE_SUM);
}

/* Windows that are larger than the pairs that are kept: tap by tap. */
static void depthwise_large(const struct depthwise_part *d)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps x = c->window.x, y = c->window.y;
  for (int row = 0; row < c->n_rows; row++)
    for (int col = 0; col < c->n_cols; col++) {
      ivec sum = d->bias;
      for (int ky = 0; ky < y.size; ky++)
        for (int kx = 0; kx < x.size; kx++) {
          const uint8_t *in = c->rows[row * y.stride + ky * y.dilation] +
                              (size_t)(col * x.stride + kx * x.dilation) * (size_t)c->in_pixel_bytes + d->first;
          sum += ivec_widen(in, d->n) * depthwise_weights(d, ky, kx);
        }
      const bool even = d->rescale.way == RESCALE_EVEN;
      ivec_narrow(c->out[row] + (size_t)col * (size_t)c->out_pixel_bytes + d->first,
                  even ? rescale_put(sum, &d->rescale, &d->bounds, RESCALE_EVEN)
                       : bounds_put(rescale_vector(sum, &d->rescale), &d->bounds), d->n);
    }
}

static void depthwise(const struct mafat_integer_depthwise_call *c)
{
  struct depthwise_part d; /* its pairs are as many as the window has */
  d.c = c;
  const bool large = (c->window.y.size + 1) / 2 * c->window.x.size > DEPTHWISE_PAIRS;
  for (d.first = 0; d.first < c->n_channels; d.first += IVEC_LANES) {
    d.n = mafat_min(IVEC_LANES, c->n_channels - d.first);
    if (large) {
      struct mafat_integer_depthwise_call one = *c; /* prepares what is no pair */
      one.window.y.size = one.window.x.size = 1;
      d.c = &one;
      depthwise_prepare(&d);
      d.c = c;
      depthwise_large(&d);
      continue;
    }
    depthwise_prepare(&d);
    depthwise_part(&d);
  }
}
