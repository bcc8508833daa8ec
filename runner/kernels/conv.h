/* Kernel of direct convolution, without im2col and without packed inputs. Included by bodies.h;
 * called for each step of a layer (runner/engine/kinds/conv_direct.c, dense.c, matmul.c). Reads
 * input rows and writes output rows; allocates nothing.
 *
 * A tap is one input value of an output's window: one row, column and channel. A tile of outputs
 * stays in registers while a slice of the taps is summed. A slice is so short that its weights stay
 * in the first-level cache for all tiles. Between slices, partial sums are stored in the outputs'
 * memory. */
#include "base/blocks.h"

enum {
  /* vectors for the 16 filters of a segment */
  SEGMENT_VECTORS = MAFAT_CHANNEL_BLOCK / VECTOR_LANES,
  TILE_VECTORS = VECTOR_SEGMENTS * SEGMENT_VECTORS, /* most vectors of filters of a tile */
  /* vectors that are stored together; with few registers, one at a time is as fast */
  STORED_VECTORS = VECTOR_MANY_REGISTERS ? SEGMENT_VECTORS : 1,
  TILE_PIXELS = VECTOR_PIXELS, /* most pixels of a tile with more than ALONE_VECTORS vectors */
  ALONE_VECTORS = TILE_VECTORS / 2,
  ALONE_PIXELS = VECTOR_PIXELS_ALONE, /* most pixels of a tile with at most ALONE_VECTORS vectors */
  MOST_PIXELS = TILE_PIXELS > ALONE_PIXELS ? TILE_PIXELS : ALONE_PIXELS,
  SLICE_RUNS = 64, /* most runs in a slice */
  SLICE_KINDS = 3, /* most kinds of runs in a slice */
  /* prefetch if there are at least this many tiles; fewer would prefetch as much as they read */
  AHEAD_TILES = 4,
  /* prefetch if a call has at most this many outputs; with more, arithmetic outweighs waiting */
  AHEAD_PIXELS = 512,
  POOLED_BYTES = 3584, /* pooling keeps its sums on the stack, which is small (os/process.h) */
  /* bytes of the sums of one column of two rows */
  POOLED_PIXEL = 2 * VECTOR_SEGMENTS * MAFAT_CHANNEL_BLOCK * (int)sizeof(float),
  /* most columns of a strip (conv_pooled), a multiple of TILE_PIXELS */
  POOLED_COLS = POOLED_BYTES / POOLED_PIXEL / TILE_PIXELS * TILE_PIXELS
};

_Static_assert(TILE_PIXELS % 2 == 0, "pooled pairs lie in one tile");

/* A run is a sequence of taps that are contiguous in the input. Runs are of one kind if they have
 * the same number of taps and the same step. This describes n runs of one kind. */
struct conv_runs {
  int n, n_taps; /* number of runs; number of taps of each run */
  size_t step;   /* bytes between the inputs of neighboring outputs */
};

/* How far the summation has come: the next run, and the number of taps before it. */
struct conv_place {
  int block_slice, ky, kx;
  size_t taps;
};

struct conv_slice;
typedef void (*tile_function)(struct conv_slice *c, int n);

/* State of adding one slice of the taps to the sums of a tile's filters. */
struct conv_slice {
  struct conv_place begin, end; /* the slice's first tap; the tap after its last */
  struct {
    const float *const *rows; /* [output row * stride]: address of the input row */
    size_t apart;             /* bytes from that address to the run */
  } runs[SLICE_RUNS];
  struct conv_runs kinds[SLICE_KINDS];
  int n_runs, n_kinds, width, n_filters; /* width of the panel; number of filters of the tiles */
  /* start: the sums begin in this slice; finish: they end in it; is_short: tiles may use
   * conv_short_tiles; is_paired: conv_paired_row computes rows */
  bool start, finish, is_short, is_paired;
  const float *scale, *bias; /* from the tiles' first filter on; NULL unless the call finishes */
  struct mafat_activating activation;
  /* a row has n_wide tiles of wide_pixels pixels, then n_narrow tiles with one pixel less */
  int n_wide, wide_pixels, n_narrow;
  tile_function wide, narrow; /* compute n_wide and n_narrow tiles */
  /* current row: */
  const char *in[SLICE_RUNS];     /* [run]: address of its input for output column 0 */
  const float *weights;          /* weights of the first run */
  float *out[VECTOR_SEGMENTS];   /* address of the output at column `col` */
  size_t pixel[VECTOR_SEGMENTS]; /* floats between pixels */
  int col;
  /* weights of the next slice, which the tiles prefetch: n_ahead cache lines for each run */
  const char *ahead, *ahead_end;
  int n_ahead;
};

#ifdef VECTOR_BY_LANE
/* Adds n contiguous taps, a multiple of VECTOR_LANES; pixels are `step` bytes apart. One load has
 * VECTOR_LANES taps of a pixel, and each multiply-add selects a lane. Weights are loaded one
 * multiply-add early, because in-order cores wait for loads. */
INLINE const float *conv_lanes(vec sum[MOST_PIXELS][TILE_VECTORS], const char *in, size_t step,
                               const float *w, const int width, int n, const int P, const int NV)
{
  for (; n > 0; n -= VECTOR_LANES, in += sizeof(vec)) {
    vec x[MOST_PIXELS], weight, next = vec_load(w);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) x[p] = vec_load((const float *)(in + (size_t)p * step));
#pragma GCC unroll 16
    for (int i = 0; i < VECTOR_LANES * NV; i++) {
      const int lane = i / NV, v = i % NV;
      weight = next;
      if (v + 1 == NV) {
        w += width;
        if (width != MAFAT_PANEL || lane + 1 == VECTOR_LANES) OPAQUE(w);
      }
      if (i + 1 < VECTOR_LANES * NV) next = vec_load(w + (v + 1) % NV * VECTOR_LANES);
#pragma GCC unroll 16
      for (int p = 0; p < P; p++) vec_accumulate_lane(&sum[p][v], weight, x[p], lane);
    }
  }
  return w;
}

/* Adds n contiguous taps. */
INLINE const float *conv_run(vec sum[MOST_PIXELS][TILE_VECTORS], const char *in, size_t step,
                             const float *w, int width, int n, int n_filters, const int P,
                             const int NV)
{
  const int whole = n & -VECTOR_LANES;
  (void)n_filters; /* vectors of weights are never partial */
#ifdef VECTOR_BY_TAPS
  if (P == 2 && NV == 4)
    w = whole ? vec_accumulate_taps(sum[0], sum[1], in, in + step, w, width, whole) : w;
  else
#endif
  /* a constant width needs one address update for all lanes */
  if (P * NV >= 16 && width == MAFAT_PANEL)
    w = conv_lanes(sum, in, step, w, MAFAT_PANEL, whole, P, NV);
  else w = conv_lanes(sum, in, step, w, width, whole, P, NV);
  in += (size_t)whole * sizeof(float);
  n -= whole;
  for (; n > 0; n--, in += sizeof(float), w += width)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) {
      const vec weight = vec_load(w + v * VECTOR_LANES);
#pragma GCC unroll 16
      for (int p = 0; p < P; p++)
        vec_accumulate(&sum[p][v], vec_all(*(const float *)(in + (size_t)p * step)), weight);
    }
  return w;
}
#else
#ifndef VECTOR_BROADCASTS
INLINE void vec_accumulate_broadcast(vec *sums, const vec *weights, const int n, const char *in,
                                     size_t step, size_t step3, const int times, const int tap)
{
  const vec x = vec_all(((const float *)(in + (times == 3 ? step3 : (size_t)times * step)))[tap]);
#pragma GCC unroll 4
  for (int v = 0; v < n; v++) vec_accumulate(&sums[v], x, weights[v]);
}
#endif

/* Adds one tap of the inputs at `base`, with the weights at w. */
INLINE void conv_tap(vec sum[MOST_PIXELS][TILE_VECTORS], const char *const *base, size_t step,
                     size_t step3, const float *w, int n_filters, const int tap, const int P,
                     const int NV)
{
  vec weights[TILE_VECTORS];
#pragma GCC unroll 4
  for (int v = 0; v < NV; v++)
    weights[v] = vec_load_panel(w + v * VECTOR_LANES,
                                v + 1 < NV ? VECTOR_LANES : n_filters - v * VECTOR_LANES);
#pragma GCC unroll 16
  for (int p = 0; p < P; p++)
    vec_accumulate_broadcast(sum[p], weights, NV, base[p / 5], step, step3, p % 5, tap);
}

/* Adds n contiguous taps. A tap needs P broadcasts, NV weights and P * NV multiply-adds. Pixels are
 * `step` bytes apart. Five of them are addressed from one base register with x86's scaled addresses
 * (0, 1, 2, 4 times step, and 1 times 3 * step), so that three or four registers are enough.
 *
 * For 1x1 convolutions a run has 16 taps, and narrow tiles are slower than wide ones: avx2 reaches
 * 90 % of peak with 6 pixels x 2 vectors, and 84 % with 4 x 2 (8 sums just cover a latency of 4 at
 * two per cycle). Slices of 64 to 256 taps are equally fast. With a run unrolled completely, a
 * benchmark of this kernel took 0.96 of the time, but whole networks (resnet50, darknet19) took
 * 1.01 to 1.03. */
INLINE const float *conv_run(vec sum[MOST_PIXELS][TILE_VECTORS], const char *in, size_t step,
                             const float *w, int width, int n, int n_filters, const int P,
                             const int NV)
{
  enum { BASES = (MOST_PIXELS + 4) / 5 };
  size_t step3 = 3 * step;
  const char *base[BASES];
  for (int b = 0; b < BASES; b++) base[b] = in + (size_t)(5 * b) * step;
  OPAQUE(step3);
#pragma GCC unroll 4
  for (int b = 1; b < BASES; b++) OPAQUE(base[b]);
  for (; n >= 4; n -= 4) {
#pragma GCC unroll 4
    for (int tap = 0; tap < 4; tap++, w += width)
      conv_tap(sum, base, step, step3, w, n_filters, tap, P, NV);
#pragma GCC unroll 4
    for (int b = 0; b < BASES; b++) base[b] += 4 * sizeof(float);
    OPAQUE(n);
  }
  for (; n > 0; n--, w += width) {
    conv_tap(sum, base, step, step3, w, n_filters, 0, P, NV);
#pragma GCC unroll 4
    for (int b = 0; b < BASES; b++) base[b] += sizeof(float);
    OPAQUE(n);
  }
  return w;
}
#endif

#ifndef VECTOR_SHORT_RUNS
#define VECTOR_SHORT_RUNS 0
#endif
/* Tiles of P pixels and NV vectors have special code for short runs if P * NV is at least this.
 * Rows of 10, 20, 40 ... pixels use such tiles; code for smaller tiles would be resident, but
 * rarely used. */
enum { SHORT_TILE = 10 };
#ifndef VECTOR_PAIRS
#define VECTOR_PAIRS 0
#endif
/* True if all lanes of vector v are filters. Only a tile's last vector may be partial; partial
 * loads and stores are slow. */
INLINE bool is_whole(const struct conv_slice *c, const int v, const int NV)
{
  return v + 1 < NV || c->n_filters >= NV * VECTOR_LANES;
}

/* Loads the sums: zero in the first slice, later the partial sums that the slice before stored. */
INLINE void conv_load(vec sum[MOST_PIXELS][TILE_VECTORS], const struct conv_slice *c,
                      float *const *out, const int P, const int NV)
{
  const bool start = c->start;
#pragma GCC unroll 4
  for (int v = 0; v < NV; v++) {
    const int s = v / SEGMENT_VECTORS;
    const float *from = out[s] + v % SEGMENT_VECTORS * VECTOR_LANES;
    const bool whole = is_whole(c, v, NV);
    const size_t pixel = c->pixel[s];
#pragma GCC unroll 16
    for (int p = 0; p < P; p++, from += pixel)
      sum[p][v] = start   ? vec_all(0.0f)
                  : whole ? vec_load(from)
                          : vec_load_n(from, c->n_filters - v * VECTOR_LANES);
  }
}

/* Scales, adds bias and activates vectors [begin, end). */
INLINE void conv_finish(vec sum[MOST_PIXELS][TILE_VECTORS], const struct conv_slice *c,
                        const int begin, const int end, const int P, const int NV)
{
#pragma GCC unroll 4
  for (int v = begin; v < end; v++) {
    const int n = v + 1 < NV ? VECTOR_LANES : c->n_filters - v * VECTOR_LANES;
    const vec scale = vec_load_panel(c->scale + v * VECTOR_LANES, n);
    const vec bias = vec_load_panel(c->bias + v * VECTOR_LANES, n);
    vec y[MOST_PIXELS];
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) y[p] = vec_madd(sum[p][v], scale, bias);
    activate_vectors(y, P, &c->activation);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) sum[p][v] = y[p];
  }
}

/* Stores vectors [begin, end), which are in one segment. */
INLINE void conv_store(vec sum[MOST_PIXELS][TILE_VECTORS], const struct conv_slice *c,
                       float *const *out, const int begin, const int end, const int P, const int NV)
{
  const int s = begin / SEGMENT_VECTORS, n_last = c->n_filters - (NV - 1) * VECTOR_LANES;
  const bool whole = is_whole(c, end - 1, NV);
  const size_t pixel = c->pixel[s];
  float *to = out[s] + begin % SEGMENT_VECTORS * VECTOR_LANES;
#pragma GCC unroll 16
  for (int p = 0; p < P; p++, to += pixel) {
    /* two vectors become one store if the address is in a register */
    if (end - begin > 1) OPAQUE(to);
#pragma GCC unroll 4
    for (int v = begin; v < end; v++)
      if (v + 1 < NV || whole) vec_store(to + (v - begin) * VECTOR_LANES, sum[p][v]);
      else vec_store_n(to + (v - begin) * VECTOR_LANES, sum[p][v], n_last);
  }
}

/* Adds the slice to n neighboring tiles of P pixels x NV vectors of filters. ONE: all runs are of
 * one kind, so steps are known before the first tile. */
INLINE void conv_tiles(struct conv_slice *c, int n, const int P, const int NV, const bool ONE)
{
  const int width = c->width, n_filters = c->n_filters, n_ahead = c->n_ahead,
            n_kinds = ONE ? 1 : c->n_kinds;
  const struct conv_runs first = c->kinds[0];
  const char *ahead = c->ahead;
  float *out[VECTOR_SEGMENTS];
  for (int s = 0; s < VECTOR_SEGMENTS; s++) out[s] = c->out[s];
  for (int col = c->col; n > 0; n--, col += P) {
    vec sum[MOST_PIXELS][TILE_VECTORS];
    const char *const *in = c->in;
    const float *w = c->weights;
    conv_load(sum, c, out, P, NV);
    for (int k = 0; k < n_kinds; k++) {
      const struct conv_runs r = ONE ? first : c->kinds[k];
      const size_t at = (size_t)col * r.step;
      for (const char *const *end = in + r.n; in < end; in++) {
        for (int i = 0; i < n_ahead; i++, ahead += 64) __builtin_prefetch(ahead);
        w = conv_run(sum, *in + at, r.step, w, width, r.n_taps, n_filters, P, NV);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; v += STORED_VECTORS) {
      const int end = v + STORED_VECTORS < NV ? v + STORED_VECTORS : NV;
      if (c->finish) conv_finish(sum, c, v, end, P, NV);
      conv_store(sum, c, out, v, end, P, NV);
    }
    for (int s = 0; s < VECTOR_SEGMENTS; s++) out[s] += (size_t)P * c->pixel[s];
  }
  c->ahead = ahead;
}

#if VECTOR_SHORT_RUNS
/* Like conv_tiles, for sums that start and finish in this slice, with runs of TAPS taps. With so
 * few taps, loop counters and conditions would take as long as the sums. */
#define SHORT_TAP(TAP) /* unrolled by hand: TAP must be a constant, but not every compiler unrolls \
                          a loop over it */ \
  if (TAP < TAPS) conv_tap(sum, base, step, step3, w, NV *VECTOR_LANES, TAP, P, NV), w += width
INLINE void conv_short_tiles(struct conv_slice *c, int n, const int P, const int NV, const int TAPS)
{
  enum { BASES = (MOST_PIXELS + 4) / 5 };
  const int width = c->width, n_runs = c->n_runs;
  const size_t step = c->kinds[0].step, pixel = c->pixel[0];
  size_t step3 = 3 * step, at = (size_t)c->col * step;
  float *out = c->out[0];
  const struct mafat_activating activation = c->activation;
  OPAQUE(step3);
  for (; n > 0; n--, at += (size_t)P * step) {
    vec sum[MOST_PIXELS][TILE_VECTORS];
    const float *w = c->weights;
#pragma GCC unroll 10
    for (int p = 0; p < P; p++)
#pragma GCC unroll 2
      for (int v = 0; v < NV; v++) sum[p][v] = vec_all(0.0f);
    for (int r = 0; r < n_runs; r++) {
      const char *base[BASES];
      for (int b = 0; b < BASES; b++) {
        base[b] = c->in[r] + at + (size_t)(5 * b) * step;
        OPAQUE(base[b]);
      }
      SHORT_TAP(0);
      SHORT_TAP(1);
      SHORT_TAP(2);
      SHORT_TAP(3);
      SHORT_TAP(4);
      SHORT_TAP(5);
      SHORT_TAP(6);
      SHORT_TAP(7);
      SHORT_TAP(8);
    }
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
      const vec scale = vec_load(c->scale + v * VECTOR_LANES),
                bias = vec_load(c->bias + v * VECTOR_LANES);
      vec y[MOST_PIXELS];
#pragma GCC unroll 10
      for (int p = 0; p < P; p++) y[p] = vec_madd(sum[p][v], scale, bias);
      activate_usual(y, P, &activation);
      float *to = out + v * VECTOR_LANES;
#pragma GCC unroll 10
      for (int p = 0; p < P; p++, to += pixel) vec_store(to, y[p]);
    }
    out += (size_t)P * pixel;
  }
}

#undef SHORT_TAP

INLINE void conv_short(struct conv_slice *c, int n, const int P, const int NV)
{
  switch (c->kinds[0].n_taps) {
  case 4: conv_short_tiles(c, n, P, NV, 4); break;
  case 8: conv_short_tiles(c, n, P, NV, 8); break;
  default: conv_short_tiles(c, n, P, NV, 9);
  }
}
#else
INLINE void conv_short(struct conv_slice *c, int n, const int P, const int NV)
{
  (void)c, (void)n, (void)P, (void)NV;
}
#endif

#if VECTOR_PAIRS
/* Computes P pairs of pixels with four filters each; a vector has both pixels of a pair. `alone`:
 * the last pair is one pixel, computed twice. */
INLINE void conv_pair_tile(const struct conv_slice *c, int col, bool alone, const int P)
{
  const size_t step = c->kinds[0].step, pixel = c->pixel[0], next = alone ? 0 : 1;
  const int n_taps = c->kinds[0].n_taps;
  const float *w = c->weights;
  vec sum[4];
#pragma GCC unroll 4
  for (int p = 0; p < P; p++) sum[p] = vec_all(0.0f);
  for (int r = 0; r < c->n_runs; r++) {
    const char *in = c->in[r] + (size_t)(c->col + col) * step;
    for (int tap = 0; tap < n_taps; tap += 4, in += 4 * sizeof(float)) {
      vec x[4];
#pragma GCC unroll 4
      for (int p = 0; p < P; p++)
        x[p] = vec_load_pair((const float *)(in + (size_t)(2 * p) * step),
                             (const float *)(in + ((size_t)(2 * p) + next) * step));
#pragma GCC unroll 4
      for (int lane = 0; lane < 4; lane++, w += c->width) {
        const vec weights = vec_load_pair(w, w);
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) vec_accumulate(&sum[p], vec_pair_lane(x[p], lane), weights);
      }
    }
  }
  const vec scale = vec_load_pair(c->scale, c->scale), bias = vec_load_pair(c->bias, c->bias);
  float *out = c->out[0] + (size_t)col * pixel;
#pragma GCC unroll 4
  for (int p = 0; p < P; p++) sum[p] = vec_madd(sum[p], scale, bias);
  activate_usual(sum, P, &c->activation);
#pragma GCC unroll 4
  for (int p = 0; p < P; p++, out += 2 * pixel) vec_store_pair(out, out + next * pixel, sum[p]);
}

static void conv_paired_row(const struct conv_slice *c, int n_cols)
{
  int col = 0;
  for (; col + 8 <= n_cols; col += 8) conv_pair_tile(c, col, false, 4);
  for (; col < n_cols; col += 2) conv_pair_tile(c, col, col + 1 == n_cols, 1);
}
#else
static void conv_paired_row(const struct conv_slice *c, int n_cols) { (void)c, (void)n_cols; }
#endif

/* True for sums that start and finish in this slice and have runs of one kind. */
static bool is_simple(const struct conv_slice *c)
{
  return c->start && c->finish && c->n_kinds == 1 && c->n_ahead == 0 && is_usual(&c->activation);
}

static bool is_paired(const struct conv_slice *c)
{
  return VECTOR_PAIRS && is_simple(c) && c->n_filters == 4 && c->kinds[0].n_taps % 4 == 0;
}

static bool is_short(const struct conv_slice *c)
{
  const int n_taps = c->kinds[0].n_taps;
  return VECTOR_SHORT_RUNS && is_simple(c) && c->n_filters % VECTOR_LANES == 0 &&
         (n_taps == 4 || n_taps == 8 || n_taps == 9);
}

#define TILE(P, NV) \
  static void tiles_##P##_##NV(struct conv_slice *c, int n) \
  { \
    if (P * NV >= SHORT_TILE && c->is_short) conv_short(c, n, P, NV); \
    else if (VECTOR_MANY_REGISTERS && NV <= ALONE_VECTORS && c->n_kinds == 1) \
      conv_tiles(c, n, P, NV, true); \
    else conv_tiles(c, n, P, NV, false); \
  }

/* Tables of tile functions: [vectors - 1][pixels - 1]. */
#define TILES_2(NV) TILE(1, NV) TILE(2, NV)
#define TILES_6(NV) TILES_2(NV) TILE(3, NV) TILE(4, NV) TILE(5, NV) TILE(6, NV)
#define TILES_10(NV) TILES_6(NV) TILE(7, NV) TILE(8, NV) TILE(9, NV) TILE(10, NV)
#define TILES_14(NV) TILES_10(NV) TILE(11, NV) TILE(12, NV) TILE(13, NV) TILE(14, NV)
#define TILES_4(NV) TILES_2(NV) TILE(3, NV) TILE(4, NV)
#define ROW_2(NV) tiles_1_##NV, tiles_2_##NV
#define ROW_4(NV) ROW_2(NV), tiles_3_##NV, tiles_4_##NV
#define ROW_6(NV) ROW_2(NV), tiles_3_##NV, tiles_4_##NV, tiles_5_##NV, tiles_6_##NV
#define ROW_10(NV) ROW_6(NV), tiles_7_##NV, tiles_8_##NV, tiles_9_##NV, tiles_10_##NV
#define ROW_14(NV) ROW_10(NV), tiles_11_##NV, tiles_12_##NV, tiles_13_##NV, tiles_14_##NV
#define JOIN(A, B) A##B
#define TILES(PIXELS, NV) JOIN(TILES_, PIXELS)(NV)
#define ROW(PIXELS, NV) {JOIN(ROW_, PIXELS)(NV)}

#if VECTOR_SEGMENTS * 16 / VECTOR_LANES == 4
TILES(VECTOR_PIXELS_ALONE, 1)
TILES(VECTOR_PIXELS_ALONE, 2)
TILES(VECTOR_PIXELS, 3)
TILES(VECTOR_PIXELS, 4)
static const tile_function tiles[TILE_VECTORS][MOST_PIXELS] = {ROW(VECTOR_PIXELS_ALONE, 1),
                                                               ROW(VECTOR_PIXELS_ALONE, 2),
                                                               ROW(VECTOR_PIXELS, 3),
                                                               ROW(VECTOR_PIXELS, 4)};
#else
TILES(VECTOR_PIXELS_ALONE, 1)
TILES(VECTOR_PIXELS, 2)
static const tile_function tiles[TILE_VECTORS][MOST_PIXELS] = {ROW(VECTOR_PIXELS_ALONE, 1),
                                                               ROW(VECTOR_PIXELS, 2)};
#endif

/* Stores the maximum of each 2 x 2 outputs of one or two finished rows. */
static void pool_pairs(const float *rows[2], int n_rows, int n_pixels, int n_filters, float *out,
                      size_t out_pixel)
{
  for (int p = 0; p < n_pixels; p += 2, out += out_pixel)
    for (int v = 0; v < n_filters; v += VECTOR_LANES) {
      vec most = vec_all(-FLT_MAX);
      for (int r = 0; r < n_rows; r++)
        for (int x = p; x < p + 2 && x < n_pixels; x++)
          most = pool_vector(most, vec_load(rows[r] + x * MAFAT_CHANNEL_BLOCK + v));
      vec_store_n(out + v, most, n_filters - v);
    }
}

static struct conv_place run_after(struct conv_place at, const struct mafat_window *w, bool joined,
                                   int n_taps)
{
  at.taps += (size_t)n_taps;
  if (!joined && ++at.kx < w->x.size) return at;
  at.kx = 0;
  if (++at.ky < w->y.size) return at;
  at.ky = 0;
  at.block_slice++;
  return at;
}

/* True for one output pixel: each weight is used once, so loading weights dominates. */
static bool is_connected(const struct mafat_conv_call *c)
{
  return c->n_rows * c->n_cols == 1 && !c->pool;
}

/* Returns the taps of a slice. With pooling a slice is twice as long, because its overhead is
 * shared by fewer tiles. */
static size_t slice_taps(const struct mafat_conv_call *c)
{
  if (is_connected(c)) return (size_t)SLICE_RUNS * MAFAT_CHANNEL_BLOCK;
  return c->pool ? 2 * VECTOR_TAPS : VECTOR_TAPS;
}

/* Chooses the runs of the slice that begins at `at`. */
static void choose_runs(struct conv_slice *s, const struct mafat_conv_call *c, struct conv_place at)
{
  const struct mafat_taps x = c->window.x;
  const size_t end = at.taps + slice_taps(c);
  struct conv_runs *last = NULL;
  s->begin = at;
  s->n_runs = s->n_kinds = 0;
  while (at.block_slice < c->n_block_slices && at.taps < end && s->n_runs < SLICE_RUNS) {
    const struct mafat_conv_block_slice *p = &c->block_slices[at.block_slice];
    const size_t pixel = (size_t)p->pixel_floats * sizeof(float), step = pixel * (size_t)x.stride;
    /* contiguous taps of a window row are one run */
    const bool joined = p->pixel_floats == p->n_channels && x.dilation == 1;
    const int n_taps = joined ? p->n_channels * x.size : p->n_channels;
    if (!last || last->n_taps != n_taps || last->step != step) {
      if (s->n_kinds == SLICE_KINDS) break;
      last = &s->kinds[s->n_kinds++];
      *last = (struct conv_runs){0, n_taps, step};
    }
    s->runs[s->n_runs].rows = p->rows + at.ky * c->window.y.dilation;
    s->runs[s->n_runs++].apart = (size_t)(at.kx * x.dilation) * pixel;
    last->n++;
    at = run_after(at, &c->window, joined, n_taps);
  }
  s->end = at;
}

/* Columns [col, col + n_cols) of n_rows rows from `row` on. */
struct conv_area {
  int row, n_rows, col, n_cols;
};

/* Selects the filters of one tile, which are those of `segments`. `first`: index in the panel of
 * the first of these filters. */
static void choose_filters(struct conv_slice *s, const struct mafat_conv_call *c,
                           const struct mafat_conv_segment *segments, int n_segments, int first)
{
  s->n_filters = 0;
  for (int i = 0; i < VECTOR_SEGMENTS; i++) {
    s->out[i] = NULL;
    s->pixel[i] = 0;
    if (i >= n_segments) continue;
    s->n_filters += segments[i].n_filters;
    s->pixel[i] = (size_t)segments[i].pixel_floats;
  }
  s->scale = c->finish ? c->scale + first : NULL;
  s->bias = c->finish ? c->bias + first : NULL;
}

/* Chooses tiles of nearly equal width: 19 columns are 10 + 9, not 14 + 5. */
static void choose_tiles(struct conv_slice *s, int n_cols)
{
  const int vectors = mafat_divide_up(s->n_filters, VECTOR_LANES);
  const int n = mafat_divide_up(n_cols, vectors <= ALONE_VECTORS ? ALONE_PIXELS : TILE_PIXELS),
            pixels = n_cols / n;
  s->n_wide = n_cols - n * pixels;
  s->n_narrow = n - s->n_wide;
  s->wide_pixels = pixels + 1;
  s->narrow = tiles[vectors - 1][pixels - 1];
  s->wide = s->n_wide ? tiles[vectors - 1][pixels] : NULL;
}

/* Chooses how many lines of the next slice's weights each tile prefetches. In late layers, weights
 * come from memory, and the first tiles of a slice would wait for them. With one output pixel, all
 * the time is spent waiting for weights; if a tile has only some of the panel's filters, it skips
 * cache lines, and then the processor does not prefetch by itself. */
static void choose_ahead(struct conv_slice *s, const struct mafat_conv_call *c,
                         const struct conv_area *area, int n_parts)
{
  const int n_tiles = n_parts * area->n_rows * (s->n_wide + s->n_narrow);
  const bool some =
      n_tiles >= AHEAD_TILES && area->n_rows * area->n_cols <= AHEAD_PIXELS && !c->pool;
  const bool wanted = some || (is_connected(c) && n_parts > 1 && s->n_runs > 1);
  const size_t bytes =
      wanted ? (s->end.taps - s->begin.taps) * (size_t)c->width * sizeof(float) : 0;
  s->ahead = (const char *)(c->weights + s->end.taps * (size_t)c->width);
  s->ahead_end = s->ahead + bytes;
  s->n_ahead = mafat_divide_up((int)(bytes / 64), n_tiles * s->n_runs);
}

static void run_row(struct conv_slice *s, int col, int n_cols)
{
  if (s->ahead >= s->ahead_end) s->n_ahead = 0;
  s->col = col;
  if (s->is_paired) {
    conv_paired_row(s, n_cols);
    return;
  }
  if (s->n_wide) {
    const int cols = s->n_wide * s->wide_pixels;
    s->wide(s, s->n_wide);
    s->col += cols;
    for (int i = 0; i < VECTOR_SEGMENTS; i++) s->out[i] += (size_t)cols * s->pixel[i];
  }
  s->narrow(s, s->n_narrow);
}

/* Adds the slice to the sums of n segments in all rows of the area. `first`: index in the panel of
 * the first segment's first filter. n_parts: number of calls of this function for the slice, each
 * with other segments. */
static void conv_filters(struct conv_slice *s, const struct mafat_conv_call *c,
                         const struct conv_area *area, const struct mafat_conv_segment *segments,
                         int n, int first, int n_parts)
{
  s->weights = c->weights + s->begin.taps * (size_t)c->width + first;
  choose_filters(s, c, segments, n, first);
  choose_tiles(s, area->n_cols);
  if (first == 0) choose_ahead(s, c, area, n_parts);
  s->is_short = is_short(s);
  s->is_paired = is_paired(s);
  for (int r = 0; r < area->n_rows; r++) {
    const int row = area->row + r;
    for (int i = 0; i < s->n_runs; i++)
      s->in[i] = (const char *)s->runs[i].rows[row * c->window.y.stride] + s->runs[i].apart;
    for (int i = 0; i < n; i++) s->out[i] = segments[i].rows[r];
    run_row(s, area->col, area->n_cols);
  }
}

/* Computes an area's sums slice by slice, so that a slice's input is used for all filters while it
 * is cached. If one slice has all taps, its runs in `s` are used for all areas. */
static void conv_area(struct conv_slice *s, const struct mafat_conv_call *c,
                      const struct conv_area *area, const struct mafat_conv_segment *segments,
                      int n_segments, int first)
{
  const int n_parts = mafat_divide_up(n_segments, VECTOR_SEGMENTS);
  struct conv_place at = {0, 0, 0, 0};
  do {
    if (s->n_runs == 0 || s->begin.taps != at.taps) choose_runs(s, c, at);
    s->start = c->start && at.taps == 0;
    s->finish = c->finish && s->end.block_slice == c->n_block_slices;
    for (int i = 0; i < n_segments; i += VECTOR_SEGMENTS)
      conv_filters(s, c, area, segments + i, mafat_min(VECTOR_SEGMENTS, n_segments - i),
                   first + i * MAFAT_CHANNEL_BLOCK, n_parts);
    at = s->end;
  } while (at.block_slice < c->n_block_slices);
}

/* Computes and pools the filters of some segments in all rows: two rows at a time, in strips of
 * columns whose sums fit on the stack. */
static void conv_pooled(struct conv_slice *slice, const struct mafat_conv_call *c,
                        const struct mafat_conv_segment *segments, int n_segments, int first)
{
  float sums[VECTOR_SEGMENTS][2][POOLED_COLS * MAFAT_CHANNEL_BLOCK];
  float *rows[VECTOR_SEGMENTS][2];
  struct mafat_conv_segment unpooled[VECTOR_SEGMENTS];
  for (int s = 0; s < n_segments; s++) {
    for (int r = 0; r < 2; r++) rows[s][r] = sums[s][r];
    unpooled[s] = (struct mafat_conv_segment){rows[s], segments[s].n_filters, MAFAT_CHANNEL_BLOCK};
  }
  /* strips of nearly equal width, in whole tiles */
  const int n_strips = mafat_divide_up(c->n_cols, POOLED_COLS);
  const int strip = mafat_round_up(mafat_divide_up(c->n_cols, n_strips), TILE_PIXELS);
  struct conv_area area = {0, 0, 0, 0};
  for (area.row = 0; area.row < c->n_rows; area.row += 2)
    for (area.col = 0; area.col < c->n_cols; area.col += strip) {
      area.n_rows = mafat_min(2, c->n_rows - area.row);
      area.n_cols = mafat_min(strip, c->n_cols - area.col);
      conv_area(slice, c, &area, unpooled, n_segments, first);
      for (int s = 0; s < n_segments; s++) {
        const float *from[2] = {sums[s][0], sums[s][1]};
        const size_t pixel = (size_t)segments[s].pixel_floats;
        pool_pairs(from, area.n_rows, area.n_cols, segments[s].n_filters,
                  segments[s].rows[area.row / 2] + (size_t)(area.col / 2) * pixel, pixel);
      }
    }
}

static void conv_panel(const struct mafat_conv_call *c)
{
  const struct conv_area all = {0, c->n_rows, 0, c->n_cols};
  struct conv_slice slice;
  slice.n_runs = 0;
  slice.ahead = slice.ahead_end = NULL;
  slice.n_ahead = 0;
  slice.width = c->width;
  slice.activation = general_activation(c->activation);
  if (!c->pool) {
    conv_area(&slice, c, &all, c->segments, c->n_segments, 0);
    return;
  }
  for (int i = 0; i < c->n_segments; i += VECTOR_SEGMENTS)
    conv_pooled(&slice, c, &c->segments[i], mafat_min(VECTOR_SEGMENTS, c->n_segments - i),
                i * MAFAT_CHANNEL_BLOCK);
}

#ifdef LEVEL_NARROW
/* Computes a call. If the last segment has few filters, the kernel of level LEVEL_NARROW (bodies.h)
 * computes that segment, with shorter vectors. */
static void conv(const struct mafat_conv_call *c)
{
  const int last = c->n_segments - 1;
  if (c->segments[last].n_filters > MAFAT_NARROW_FILTERS) {
    conv_panel(c);
    return;
  }
  struct mafat_conv_call part = *c;
  part.n_segments = last;
  if (last > 0) conv_panel(&part);
  part.n_segments = 1;
  part.segments[0] = c->segments[last];
  part.weights += last * MAFAT_CHANNEL_BLOCK;
  if (c->finish) {
    part.scale += last * MAFAT_CHANNEL_BLOCK;
    part.bias += last * MAFAT_CHANNEL_BLOCK;
  }
  LEVEL_NARROW.conv(&part);
}
#else
static void conv(const struct mafat_conv_call *c)
{
  conv_panel(c);
}
#endif
