/* Kernel of depthwise convolution of integers. One instruction multiplies taps of two rows of a
 * window (pairs of 16 bits) or of four rows (quads of bytes). The inputs of these rows in one
 * column are loaded once for all outputs that use them. A window with more rows needs several
 * passes over a strip's sums. Allocates nothing. Included by integer_bodies.h; called by
 * runner/engine/kinds/integer/conv.c. */

enum {
  DEPTHWISE_STRIP = 32, /* most columns of a strip */
  DEPTHWISE_TAPS = 48   /* most vectors of combined weights */
};

/* One pass adds n_rows rows of the window, from row ky on. weights: [kx], the weights of these rows
 * in one vector (depthwise_whole, depthwise_share). */
struct depthwise_pass {
  int ky, n_rows;
  const ivec *weights;
};

/* The channels of a call that are computed together: IVEC_LANES channels, or the fewer channels at
 * the call's end. */
struct depthwise_part {
  const struct mafat_integer_depthwise_call *c;
  int first, n;    /* first channel; number of channels from it to the call's last one */
  int n_passes;
  struct depthwise_pass passes[DEPTHWISE_TAPS];
  ivec weights[DEPTHWISE_TAPS], bias;
  struct finish finish;
  struct integer_bounds bounds;
};

/* A pass over the sums of n columns. */
struct depthwise_strip {
  /* addresses of the first tap of the first column; if the pass has fewer rows, the last row is
   * repeated, with weights 0 */
  const uint8_t *rows[IVEC_ROWS];
  size_t step, tap; /* bytes between the first taps of neighbouring outputs; bytes between taps */
  const ivec *weights;
  int n_rows, n_taps, n, lanes;
  const int32_t *from;            /* sums to begin with, `pitch` elements apart */
  size_t pitch;
  int32_t *to;
};

/* ---- weights ---- */

INLINE ivec depthwise_weight(const struct depthwise_part *d, int ky, int kx)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const int8_t *w = c->weights + (size_t)(ky * c->window.x.size + kx) * (size_t)c->width + d->first;
  const ivec bytes = ivec_widen((const uint8_t *)w, d->n >= IVEC_LANES ? IVEC_LANES : d->n);
  return (bytes << 24 >> 24) - c->weights_zero;
}

/* Combines the weights of the pass's rows at column kx of the window. Weights minus their zero
 * point must fit the combined format, which is that of ivec_column: four bytes or two halves of 16
 * bits. */
INLINE ivec depthwise_whole(const struct depthwise_part *d, const struct depthwise_pass *p, int kx)
{
#if IVEC_ROWS > 2
  const struct mafat_integer_depthwise_call *c = d->c;
  const size_t row = (size_t)c->window.x.size * (size_t)c->width;
  const uint8_t *rows[IVEC_ROWS];
  for (int i = 0; i < IVEC_ROWS; i++)
    rows[i] = (const uint8_t *)c->weights + (size_t)(p->ky + mafat_min(i, p->n_rows - 1)) * row;
  const size_t at = (size_t)kx * (size_t)c->width + (size_t)d->first;
  return p->n_rows == 3 ? ivec_column(rows, at, 3, d->n) : ivec_column(rows, at, p->n_rows, d->n);
#else
  const ivec low = depthwise_weight(d, p->ky, kx) & 0xffff;
  return p->n_rows > 1 ? low | depthwise_weight(d, p->ky + 1, kx) << 16 : low;
#endif
}

/* Splits each weight minus its zero point, which may not fit the combined format, into a sum of up
 * to three integers that fit. Combines integer number `share` (0 to 2) of the pass's rows at column
 * kx. */
static ivec depthwise_share(const struct depthwise_part *d, const struct depthwise_pass *p, int kx,
                            int share)
{
  enum { BITS = 32 / IVEC_ROWS, LARGEST = (1 << (BITS - 1)) - 1 };
  ivec side_by_side = ivec_all(0);
  for (int i = 0; i < p->n_rows; i++) {
    ivec w = depthwise_weight(d, p->ky + i, kx), part = w;
    for (int s = 0; s <= share; s++, w -= part)
      part = ivec_min(ivec_max(w, ivec_all(-LARGEST - 1)), ivec_all(LARGEST));
    side_by_side |= (part & (2 * LARGEST + 1)) << (i * BITS);
  }
  return side_by_side;
}

/* Loads the row's values of d's channels; memory past them may not be readable. */
INLINE ivec depthwise_lanes(const struct depthwise_part *d, const int32_t *row)
{
  if (d->n >= IVEC_LANES) return ivec_load(row + d->first);
  int32_t lanes[IVEC_LANES];
  for (int i = 0; i < IVEC_LANES; i++) lanes[i] = i < d->n ? row[d->first + i] : 0;
  return ivec_load(lanes);
}

/* Prepares weights and requantization. Returns false if the window has more than DEPTHWISE_TAPS
 * vectors of weights. */
static bool depthwise_prepare(struct depthwise_part *d)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps x = c->window.x, y = c->window.y;
  const int n_shares = IVEC_ROWS > 2 && c->weights_zero ? 3 : 1;
  const bool whole = IVEC_ROWS == 2 || (n_shares == 1 && (d->n >= IVEC_LANES || d->n % 4 == 0));
  ivec *to = d->weights;
  d->bias = depthwise_lanes(d, c->to.bias);
  finish_choose(&d->finish, depthwise_lanes(d, c->to.multipliers), depthwise_lanes(d, c->to.shifts),
                &c->to.out, &d->bounds);
  d->n_passes = 0;
  if (mafat_divide_up(y.size, IVEC_ROWS) * x.size * n_shares > DEPTHWISE_TAPS) return false;
  for (int share = 0; share < n_shares; share++)
    for (int ky = 0; ky < y.size; ky += IVEC_ROWS) {
      struct depthwise_pass p = {ky, mafat_min(IVEC_ROWS, y.size - ky), to};
      ivec any = ivec_all(share == 0);
      for (int kx = 0; kx < x.size; kx++)
        any |= to[kx] = whole ? depthwise_whole(d, &p, kx) : depthwise_share(d, &p, kx, share);
      if (!ivec_any(any)) continue;
      d->passes[d->n_passes++] = p;
      to += x.size;
    }
  return true;
}

/* ---- a pass over a strip ---- */

/* Adds a pass with any number of taps to P outputs from column `col` on. */
INLINE void depthwise_taps(const struct depthwise_strip *s, int col, int lanes, const int P,
                           const int ROWS)
{
  ivec sum[4] = {0};
#pragma GCC unroll 4
  for (int p = 0; p < P; p++) sum[p] = ivec_load(s->from + (size_t)(col + p) * s->pitch);
  for (int t = 0; t < s->n_taps; t++) {
    const size_t at = (size_t)col * s->step + (size_t)t * s->tap;
#pragma GCC unroll 4
    for (int p = 0; p < P; p++)
      sum[p] = ivec_taps(sum[p], ivec_column(s->rows, at + (size_t)p * s->step, ROWS, lanes),
                         s->weights[t]);
  }
#pragma GCC unroll 4
  for (int p = 0; p < P; p++) ivec_store(s->to + (col + p) * IVEC_LANES, sum[p]);
}

INLINE void depthwise_any(const struct depthwise_strip *s, int lanes)
{
  if (s->n < 4)
    for (int col = 0; col < s->n; col++) depthwise_taps(s, col, lanes, 1, IVEC_ROWS);
  else if (s->n_rows == 1)
    for (int col = 0; col < s->n; col += 4)
      depthwise_taps(s, mafat_min(col, s->n - 4), lanes, 4, 1);
  else
    for (int col = 0; col < s->n; col += 4)
      depthwise_taps(s, mafat_min(col, s->n - 4), lanes, 4, IVEC_ROWS);
}

/* Adds three contiguous taps to P outputs. */
INLINE void depthwise_three(const struct depthwise_strip *s, int col, int lanes, const int P,
                            const int STRIDE)
{
  enum { ROWS = IVEC_ROWS > 3 ? 3 : IVEC_ROWS };
  ivec sum[8] = {0}, w[3];
#pragma GCC unroll 3
  for (int kx = 0; kx < 3; kx++) w[kx] = s->weights[kx];
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) sum[p] = ivec_load(s->from + (size_t)(col + p) * s->pitch);
#pragma GCC unroll 20
  for (int j = 0; j < (P - 1) * STRIDE + 3; j++) {
    const ivec column =
        ivec_column(s->rows, (size_t)col * s->step + (size_t)j * s->tap, ROWS, lanes);
#pragma GCC unroll 8
    for (int p = 0; p < P; p++)
      if (j - p * STRIDE >= 0 && j - p * STRIDE < 3)
        sum[p] = ivec_taps(sum[p], column, w[j - p * STRIDE]);
  }
#pragma GCC unroll 8
  for (int p = 0; p < P; p++) ivec_store(s->to + (col + p) * IVEC_LANES, sum[p]);
}

/* Adds three contiguous taps to all columns of a strip, at least four. If three are left at the
 * end, computes the last four; if one or two are left, computes these alone. */
INLINE void depthwise_threes(const struct depthwise_strip *s, int lanes, const int STRIDE)
{
  int col = 0;
  if (IVEC_LANES > 8 && lanes >= IVEC_LANES)
    for (; col + 8 <= s->n; col += 8) depthwise_three(s, col, lanes, 8, STRIDE);
  for (; col + 2 < s->n; col += 4) depthwise_three(s, mafat_min(col, s->n - 4), lanes, 4, STRIDE);
  for (; col < s->n; col++) depthwise_three(s, col, lanes, 1, STRIDE);
}

static void depthwise_full(const struct depthwise_strip *s, int stride)
{
  if (stride == 1) depthwise_threes(s, IVEC_LANES, 1);
  else if (stride == 2) depthwise_threes(s, IVEC_LANES, 2);
  else depthwise_any(s, IVEC_LANES);
}

static void depthwise_narrow(const struct depthwise_strip *s, int stride)
{
  if (stride == 1) depthwise_threes(s, s->lanes, 1);
  else if (stride == 2) depthwise_threes(s, s->lanes, 2);
  else depthwise_any(s, s->lanes);
}

/* ---- rows ---- */

/* Computes the sums of columns [col, col + n) of a row in one of two buffers; returns the index of
 * that buffer. */
static int depthwise_sums(const struct depthwise_part *d, int row, int col, int n,
                          int32_t *places[2])
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps x = c->window.x, y = c->window.y;
  const size_t pixel = (size_t)c->in_pixel_bytes, step = pixel * (size_t)x.stride;
  struct depthwise_strip s = {.step = step,
                              .tap = pixel * (size_t)x.dilation,
                              .n_taps = x.size,
                              .n = n,
                              .lanes = d->n,
                              .from = (const int32_t *)(const void *)&d->bias,
                              .pitch = 0,
                              .to = places[0]};
  for (int i = 0; i < d->n_passes; i++, s.from = s.to, s.pitch = IVEC_LANES, s.to = places[i % 2]) {
    const struct depthwise_pass *p = &d->passes[i];
    for (int r = 0; r < IVEC_ROWS; r++)
      s.rows[r] = c->rows[row * y.stride + (p->ky + mafat_min(r, p->n_rows - 1)) * y.dilation] +
                  (size_t)col * step + d->first;
    s.weights = p->weights;
    s.n_rows = p->n_rows;
    const bool three = x.size == 3 && x.dilation == 1 && x.stride <= 2 && n >= 4 && p->n_rows <= 3;
    if (d->n >= IVEC_LANES) depthwise_full(&s, three ? x.stride : 0);
    else depthwise_narrow(&s, three ? x.stride : 0);
  }
  return (d->n_passes - 1) % 2;
}

/* Computes columns [col, col + n) of n_rows rows. If n_rows > 1, they are whole rows. */
static void depthwise_columns(const struct depthwise_part *d, int row, int n_rows, int col, int n)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const size_t pixel = (size_t)c->out_pixel_bytes;
  const int lanes = mafat_min(d->n, IVEC_LANES);
  int32_t sums[2][DEPTHWISE_STRIP * IVEC_LANES];
  uint8_t bytes[DEPTHWISE_STRIP * IVEC_LANES], *to = c->out[row] + (size_t)col * pixel + d->first;
  bool follow = true; /* each output row begins where the one before ends */
  int place = 0;
  for (int r = 0; r < n_rows; r++) {
    int32_t *places[2] = {sums[0] + r * n * IVEC_LANES, sums[1] + r * n * IVEC_LANES};
    place = depthwise_sums(d, row + r, col, n, places);
    follow &= r == 0 || c->out[row + r] - c->out[row + r - 1] == (ptrdiff_t)((size_t)n * pixel);
  }
  if (follow) {
    finish_pixels(&d->finish, sums[place], IVEC_LANES, to, pixel, n_rows * n, lanes);
    return;
  }
  finish_pixels(&d->finish, sums[place], IVEC_LANES, bytes, IVEC_LANES, n_rows * n, lanes);
  for (int r = 0; r < n_rows; r++)
    copy_pixels(c->out[row + r] + d->first, pixel, bytes + r * n * IVEC_LANES, IVEC_LANES, n,
                lanes);
}

#ifdef IVEC_QUARTERS
/* ---- 3 x 3 windows on contiguous pixels ---- */

/* Weights for four vectors of sums, each with four pixels and a quarter of the channels. In this
 * order, inputs are arranged as quads by a few instructions, and sums are requantized in
 * registers. */
struct depthwise_quarters {
  ivec weights[3][4], bias[4]; /* [kx][quarter] */
  struct finish finish[4];
};

static struct finish finish_quarter(const struct finish *f, const int quarter)
{
  struct finish q = *f;
  q.multiplier = ivec_repeat(f->multiplier, quarter);
  q.shift = ivec_repeat(f->shift, quarter);
  if (f->way == RESCALE_EVEN || f->way == RESCALE_EVEN_SMALL) return q;
  q.even = ivec_repeat(f->even, quarter);
  q.odd = ivec_repeat(f->odd, quarter);
  q.right = ivec_repeat(f->right, quarter);
  return q;
}

static bool is_in_quarters(const struct depthwise_part *d)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps x = c->window.x;
  return d->n >= IVEC_LANES && d->n_passes == 1 && c->window.y.size <= 3 && x.size == 3 &&
         x.dilation == 1 && x.stride == 1 && c->n_cols >= 4 && c->in_pixel_bytes == IVEC_LANES &&
         finishes_alone(d->finish.way);
}

static void quarters_prepare(struct depthwise_quarters *q, const struct depthwise_part *d)
{
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    for (int kx = 0; kx < 3; kx++) q->weights[kx][i] = ivec_repeat(d->passes[0].weights[kx], i);
    q->bias[i] = ivec_repeat(d->bias, i);
    q->finish[i] = finish_quarter(&d->finish, i);
  }
}

INLINE void quarters_row(const struct depthwise_quarters *q, const uint8_t *const *rows,
                         uint8_t *to, size_t pixel, int n, const enum rescale_way way)
{
  enum { PIXEL = IVEC_LANES, HALF = 2, WHOLE = 4 };
  const ivec least = q->finish[0].bounds->least_bytes, most = q->finish[0].bounds->most_bytes;
  ivec left[4], right[4], y[4];
  ivec_quarters(rows, 0, WHOLE, left);
  for (int col = 0;; col += 4) {
    const int after = n - col - 4; /* columns left */
    const size_t at = (size_t)(col + 4) * PIXEL;
    if (after >= 4) ivec_quarters(rows, at, WHOLE, right);
    else ivec_quarters(rows, at, HALF, right);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      ivec sum = q->bias[i];
#pragma GCC unroll 3
      for (int kx = 0; kx < 3; kx++)
        sum = ivec_taps(sum, ivec_shift(left[i], right[i], kx), q->weights[kx][i]);
      y[i] = finish_alone(sum, &q->finish[i], way);
    }
    ivec_narrow_quarters(to + (size_t)col * pixel, pixel, y, least, most);
    if (after == 0) return;
    if (after >= 4) {
      memcpy(left, right, sizeof left);
    } else { /* the last four columns, of which some are computed again */
      col -= 4 - after;
      ivec_quarters(rows, (size_t)(col + 4) * PIXEL, WHOLE, left);
    }
  }
}

static void depthwise_quarters(const struct depthwise_part *d)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps y = c->window.y;
  const size_t pixel = (size_t)c->out_pixel_bytes;
  struct depthwise_quarters q;
  quarters_prepare(&q, d);
  for (int row = 0; row < c->n_rows; row++) {
    const uint8_t *rows[3];
    uint8_t *to = c->out[row] + d->first;
    for (int r = 0; r < 3; r++)
      rows[r] = c->rows[row * y.stride + mafat_min(r, y.size - 1) * y.dilation] + d->first;
    switch (d->finish.way) {
    case RESCALE_EVEN_SMALL:
      quarters_row(&q, rows, to, pixel, c->n_cols, RESCALE_EVEN_SMALL);
      break;
    case RESCALE_SUMS: quarters_row(&q, rows, to, pixel, c->n_cols, RESCALE_SUMS); break;
    case RESCALE_SUMS_POSITIVE:
      quarters_row(&q, rows, to, pixel, c->n_cols, RESCALE_SUMS_POSITIVE);
      break;
    default: quarters_row(&q, rows, to, pixel, c->n_cols, RESCALE_EVEN);
    }
  }
}
#endif

/* Computes one column tap by tap, for windows with more weights than DEPTHWISE_TAPS. */
static void depthwise_large(const struct depthwise_part *d, int row, int col)
{
  const struct mafat_integer_depthwise_call *c = d->c;
  const struct mafat_taps x = c->window.x, y = c->window.y;
  ivec sum = d->bias;
  for (int ky = 0; ky < y.size; ky++)
    for (int kx = 0; kx < x.size; kx++) {
      const uint8_t *in = c->rows[row * y.stride + ky * y.dilation] +
                          (size_t)(col * x.stride + kx * x.dilation) * (size_t)c->in_pixel_bytes +
                          d->first;
      sum += ivec_widen(in, mafat_min(d->n, IVEC_LANES)) * depthwise_weight(d, ky, kx);
    }
  finish_pixels(&d->finish, (const int32_t *)(const void *)&sum, 0,
                c->out[row] + (size_t)col * (size_t)c->out_pixel_bytes + d->first, 0, 1,
                mafat_min(d->n, IVEC_LANES));
}

/* Computes a call. If the map is narrow, computes several rows at a time. */
static void depthwise(const struct mafat_integer_depthwise_call *c)
{
  struct depthwise_part d;
  d.c = c;
  d.bounds = bounds_of(&c->to.out);
  const int n_strips = mafat_divide_up(c->n_cols, DEPTHWISE_STRIP),
            at_once = c->n_cols <= DEPTHWISE_STRIP / 4 ? DEPTHWISE_STRIP / c->n_cols : 1;
  for (d.first = 0; d.first < c->n_channels; d.first += IVEC_LANES) {
    d.n = c->n_channels - d.first;
    const bool kept = depthwise_prepare(&d);
#ifdef IVEC_QUARTERS
    if (kept && is_in_quarters(&d)) {
      depthwise_quarters(&d);
      continue;
    }
#endif
    for (int row = 0, n; row < c->n_rows; row += n) {
      n = mafat_min(at_once, c->n_rows - row);
      for (int r = row; r < row + n && !kept; r++)
        for (int col = 0; col < c->n_cols; col++) depthwise_large(&d, r, col);
      for (int i = 0, col = 0, end; i < n_strips && kept; i++, col = end) {
        end = c->n_cols * (i + 1) / n_strips;
        depthwise_columns(&d, row, n, col, end - col);
      }
    }
  }
}
