/* Kernel of direct convolution of integers. A tile of sums stays in registers over all taps of the
 * call; weights are small enough to be read from the first- or second-level cache. Sums are then
 * requantized (integer_finish.h). Included by integer_bodies.h; called by
 * runner/engine/kinds/integer (conv.c, matmul.c). Writes the outputs and the call's c->sums,
 * c->runs, c->input_sums and c->sorted; otherwise uses the stack. */

enum {
  TILE_PIXELS = IVEC_PIXELS,
  TILE_VECTORS = IVEC_VECTORS,
  TILE_LANES = IVEC_VECTORS * IVEC_LANES,
  SEGMENT_VECTORS = MAFAT_CHANNEL_BLOCK / IVEC_LANES,
  PANEL_VECTORS = MAFAT_PANEL / IVEC_LANES,
  /* most pixels whose sums are requantized together: a small part of the first-level cache */
  STRIP_PIXELS = 32
};

/* Keeps a value in a register: the compiler may not recompute it. */
#define OPAQUE(x) __asm__("" : "+r"(x))

/* A quad is four neighboring channels at one position of the window. A run is a sequence of quads
 * that are contiguous in the input. Runs are of one kind if they have the same number of quads and
 * the same step. This describes n runs of one kind. */
struct integer_conv_runs {
  int n, n_quads; /* number of runs; number of quads of each run */
  size_t step;    /* bytes between the inputs of neighboring outputs */
};

/* How far the summation has come: the next run, and the number of quads before it. */
struct integer_conv_place {
  int block_slice, ky, kx;
  size_t quads;
};

enum { SOME_RUNS = 128, SOME_KINDS = 4 };

#ifdef IVEC_FITS
/* Limits for sorting weights (integer_sorted.h). */
enum {
  SORTED_LEAST = 16,   /* sort if a sum has at least this many quads, */
  SORTED_QUADS = 1024, /* and at most this many, */
  SORTED_PIXELS = 16,  /* and the call has at least this many outputs, or memory in `sorted` */
  /* sorting pays if at least this percentage of weight vectors can be summed in 16 bits */
  SORTED_PERCENT = 75,
  /* sorting is given up early if fewer than this percentage of the vectors seen so far can be
   * summed in 16 bits */
  SORTED_HOPELESS = 60,
  SORTED_TILE = 10,    /* pixels of a tile, which has one vector of filters */
  SORTED_COUNTS = 4 * SOME_KINDS
};
#endif

/* Runs of the call: all of them, or as many as the arrays hold. */
struct conv_list {
  struct integer_conv_place begin, end;
  struct integer_conv_runs kinds[SOME_KINDS];
  int n_kinds, n_runs;
  int row;                            /* output row for which `in` is set */
  const uint8_t *const *rows[SOME_RUNS]; /* [run]: its row pointers */
  size_t offsets[SOME_RUNS];          /* [run]: its offset from the row pointers, in bytes */
  const uint8_t *in[SOME_RUNS];       /* [run]: its address for `row`, at column 0 */
};

_Static_assert(sizeof(struct conv_list) <= MAFAT_INTEGER_RUNS_ROOM * sizeof(void *),
               "room for a list of runs");

/* State of computing rows of tiles, for some filters of the panel. */
struct conv_row {
  const struct mafat_integer_conv_call *c;
  struct conv_list *list;
  /* `first`: index in the panel of the tile's first filter; the tile has n_filters filters */
  int row, first, n_filters;
  bool start; /* sums begin with the bias */
  /* [filter of the panel]: 128 times the sum of its weights, if IVEC_SIGNED */
  const int32_t *weight_sums;
  /* [row][column]: sums of windows' inputs; NULL: computed for each strip, or not needed */
  const int32_t *input_sums;
  struct finish finish[PANEL_VECTORS]; /* [vector of the panel]: set if the call finishes */
  struct integer_bounds bounds;
#ifdef IVEC_FITS
  bool is_sorted, follows; /* quads are sorted; `places` is valid for this row */
  ptrdiff_t distances[SOME_RUNS];     /* [run]: bytes from the first run */
  int32_t places[SORTED_QUADS];       /* [quad]: bytes from the first run */
  /* for each vector of filters: the number of quads [kind][enum sorted_way], then the sorted
   * indices of its quads (integer_sorted.h) */
  uint16_t *sorted;
  /* memory of `sorted` if the call has none */
  uint16_t own[PANEL_VECTORS * (SORTED_COUNTS + SORTED_QUADS)];
#endif
};

#ifdef IVEC_FITS
static void sort_runs(struct conv_row *r);     /* in integer_sorted.h */
static void sorted_follow(struct conv_row *r); /* updates `places` for the current row */
#endif

/* Adds n contiguous quads; pixels are `step` bytes apart. Five pixels are addressed from one base
 * register with x86's scaled addresses: 0, 1, 2 and 4 times step, and 1 times 3 * step. */
INLINE const int8_t *conv_quads(ivec sum[TILE_PIXELS][TILE_VECTORS], const uint8_t *in, size_t step,
                                const int8_t *w, size_t pitch, int n, int n_filters, const int P,
                                const int NV)
{
  enum { BASES = (TILE_PIXELS + 4) / 5 };
  size_t step3 = 3 * step;
  const uint8_t *base[BASES];
  for (int b = 0; b < BASES; b++) base[b] = in + (size_t)(5 * b) * step;
  OPAQUE(step3);
#pragma GCC unroll 4
  for (int b = 1; b < BASES; b++) OPAQUE(base[b]);
  for (; n > 0; n--, w += pitch) {
    iweights weights[TILE_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++)
      weights[v] = iweights_load(w + v * IVEC_LANES * 4,
                                 v + 1 < NV ? IVEC_LANES : n_filters - v * IVEC_LANES);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) {
      const iinput x = iinput_load(base[p / 5] + (p % 5 == 3 ? step3 : (size_t)(p % 5) * step));
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) sum[p][v] = ivec_dot(sum[p][v], x, weights[v]);
    }
#pragma GCC unroll 4
    for (int b = 0; b < BASES; b++) base[b] += 4;
    OPAQUE(n);
  }
  return w;
}

/* Adds the row's runs for the tile at column `col`. */
INLINE void conv_sum(const struct conv_row *r, ivec sum[TILE_PIXELS][TILE_VECTORS], int col,
                     const int P, const int NV)
{
  const size_t pitch = 4 * (size_t)r->c->width;
  const struct conv_list *list = r->list;
  const int8_t *w = r->c->weights + list->begin.quads * pitch + 4 * r->first;
  const uint8_t *const *in = list->in;
  for (const struct integer_conv_runs *k = list->kinds; k < list->kinds + list->n_kinds; k++) {
    const size_t at = (size_t)col * k->step;
    for (const uint8_t *const *end = in + k->n; in < end; in++)
      w = conv_quads(sum, *in + at, k->step, w, pitch, k->n_quads, r->n_filters, P, NV);
  }
}

static struct integer_conv_place run_after(struct integer_conv_place at,
                                           const struct mafat_window *w, bool joined, int n_quads)
{
  at.quads += (size_t)n_quads;
  if (!joined && ++at.kx < w->x.size) return at;
  at.kx = 0;
  if (++at.ky < w->y.size) return at;
  at.ky = 0;
  at.block_slice++;
  return at;
}

/* Computes the addresses of the runs in the current row. */
static void point_at_runs(struct conv_row *r)
{
  struct conv_list *list = r->list;
  const int row = r->row * r->c->window.y.stride;
  for (int i = 0; i < list->n_runs && list->row != r->row; i++)
    list->in[i] = list->rows[i][row] + list->offsets[i];
  list->row = r->row;
#ifdef IVEC_FITS
  if (r->is_sorted) sorted_follow(r);
#endif
}

/* Lists the runs from `at` on. */
static void choose_runs(struct conv_row *r, struct integer_conv_place at)
{
  const struct mafat_integer_conv_call *c = r->c;
  const struct mafat_taps x = c->window.x, y = c->window.y;
  struct conv_list *list = r->list;
  struct integer_conv_runs *last = NULL;
  int n = 0;
  list->begin = at;
  list->n_kinds = 0;
  while (at.block_slice < c->n_block_slices && n < SOME_RUNS) {
    const struct mafat_integer_block_slice *p = &c->block_slices[at.block_slice];
    const size_t pixel = (size_t)p->pixel_bytes, step = pixel * (size_t)x.stride;
    /* contiguous taps of a window row are one run */
    const bool joined =
        p->pixel_bytes == p->n_channels && p->n_channels % 4 == 0 && x.dilation == 1;
    const int n_quads = (p->n_channels + 3) / 4 * (joined ? x.size : 1);
    if (!last || last->n_quads != n_quads || last->step != step) {
      if (list->n_kinds == SOME_KINDS) break;
      last = &list->kinds[list->n_kinds++];
      *last = (struct integer_conv_runs){0, n_quads, step};
    }
    list->rows[n] = &p->rows[at.ky * y.dilation];
    list->offsets[n++] = (size_t)(at.kx * x.dilation) * pixel;
    last->n++;
    at = run_after(at, &c->window, joined, n_quads);
  }
  list->end = at;
  list->n_runs = n;
  list->row = -1;
  r->start = c->start && list->begin.quads == 0;
  point_at_runs(r);
}

/* Lists the call's first runs, or uses the list of an earlier call. Sorts the weights if the list
 * has all runs, their quads are neither too few nor too many, and the call has enough outputs, or
 * memory from which later calls take the sorted weights. */
static void begin_runs(struct conv_row *r)
{
  const struct mafat_integer_conv_call *c = r->c;
#ifdef IVEC_FITS
  r->is_sorted = r->follows = false;
#endif
  if (c->runs && c->runs->known) {
    r->start = c->start;
    point_at_runs(r);
  } else {
    choose_runs(r, (struct integer_conv_place){0, 0, 0, 0});
    if (c->runs) c->runs->known = r->list->end.block_slice == c->n_block_slices;
  }
#ifdef IVEC_FITS
  if (r->list->end.block_slice == c->n_block_slices && r->list->end.quads >= SORTED_LEAST &&
      r->list->end.quads <= SORTED_QUADS)
    sort_runs(r);
#endif
}

/* ---- sums of windows' inputs, for weights with a nonzero zero point ---- */

enum {
  SUM_PIXELS = IVEC_LANES / 4,            /* pixels of 16 channels that one vector sums */
  STRIP_SUMS = STRIP_PIXELS / SUM_PIXELS, /* vectors of sums for a strip */
  DENSE_BYTES = 512, /* most bytes of an input row that add_dense uses: its sums are on the stack */
  DENSE_TAPS = 257   /* most bytes whose sum always fits 16 bits */
};

/* Adds to each output's sum the n_channels inputs of a block that one position of the window reads;
 * columns are `step` bytes apart. */
INLINE void add_columns(int32_t *sums, const uint8_t *in, size_t step, int n_cols, int n_channels)
{
  for (int p = 0; p < n_cols; p++, in += step)
    for (int ch = 0; ch < n_channels; ch++) sums[p] += in[ch];
}

/* Adds inputs of contiguous blocks of 16 channels. A vector sums SUM_PIXELS pixels; each of its
 * lanes sums four channels. */
INLINE void add_blocks(ivec *quads, int32_t *sums, const uint8_t *in, int n_cols)
{
  enum { BLOCK = MAFAT_CHANNEL_BLOCK };
  const int n = n_cols / SUM_PIXELS;
  for (int i = 0; i < n; i++)
    quads[i] = ivec_add_quads(quads[i], in + (size_t)i * SUM_PIXELS * BLOCK);
  add_columns(sums + n * SUM_PIXELS, in + (size_t)n * SUM_PIXELS * BLOCK, BLOCK,
              n_cols % SUM_PIXELS, BLOCK);
}

INLINE void add_bytes(uint16_t *restrict sums, const uint8_t *restrict in, int n)
{
  for (int i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] + in[i]);
}

INLINE void add_words(uint16_t *restrict sums, const uint16_t *restrict in, int n)
{
  for (int i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] + in[i]);
}

/* Adds inputs of contiguous pixels with few channels, such as pictures: first the rows of the
 * windows, then their columns. Returns false if the block's input is not of this form. */
static bool add_dense(const struct mafat_integer_conv_call *c,
                      const struct mafat_integer_block_slice *p, int row, int col, int n_cols,
                      int32_t *sums)
{
  const struct mafat_taps x = c->window.x, y = c->window.y;
  const int across = x.size * p->n_channels, step = p->pixel_bytes * x.stride,
            n = (n_cols - 1) * step + across;
  uint16_t down[DENSE_BYTES], whole[DENSE_BYTES];
  if (p->pixel_bytes != p->n_channels || x.dilation != 1 || n > DENSE_BYTES ||
      y.size * across > DENSE_TAPS)
    return false;
  memset(down, 0, (size_t)n * sizeof *down);
  memset(whole, 0, (size_t)n * sizeof *whole);
  for (int ky = 0; ky < y.size; ky++)
    add_bytes(down, p->rows[row * y.stride + ky * y.dilation] + (size_t)col * (size_t)step, n);
  for (int t = 0; t < across; t++) add_words(whole, down + t, n - across + 1);
  for (int i = 0; i < n_cols; i++) sums[i] += whole[i * step];
  return true;
}

/* Computes the input sums of n_cols outputs from column `col` on; n_cols is at most
 * STRIP_PIXELS. */
static void conv_input_sums(const struct mafat_integer_conv_call *c, int row, int col, int n_cols,
                            int32_t *sums)
{
  const struct mafat_taps x = c->window.x, y = c->window.y;
  ivec quads[STRIP_SUMS];
  memset(quads, 0, sizeof quads);
  memset(sums, 0, (size_t)n_cols * sizeof *sums);
  for (const struct mafat_integer_block_slice *p = c->block_slices;
       p < c->block_slices + c->n_block_slices; p++) {
    const size_t pixel = (size_t)p->pixel_bytes, step = pixel * (size_t)x.stride;
    if (p->n_channels < MAFAT_CHANNEL_BLOCK && add_dense(c, p, row, col, n_cols, sums)) continue;
    for (int ky = 0; ky < y.size; ky++)
      for (int kx = 0; kx < x.size; kx++) {
        const uint8_t *in = p->rows[row * y.stride + ky * y.dilation] +
                            (size_t)(col * x.stride + kx * x.dilation) * pixel;
        if (step == MAFAT_CHANNEL_BLOCK && p->n_channels == MAFAT_CHANNEL_BLOCK)
          add_blocks(quads, sums, in, n_cols);
        else add_columns(sums, in, step, n_cols, p->n_channels);
      }
  }
  const int32_t *lanes = (const int32_t *)(const void *)quads;
  for (int p = 0; p < n_cols; p++, lanes += 4) sums[p] += lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

/* Initializes a tile's sums from `from` or from the bias. */
INLINE void conv_begin(const struct conv_row *r, ivec sum[TILE_PIXELS][TILE_VECTORS],
                       const int32_t *from, size_t pitch, const int P, const int NV)
{
  const int last = r->n_filters - (NV - 1) * IVEC_LANES;
  const int32_t *bias = r->c->to.bias + r->first;
#pragma GCC unroll 4
  for (int v = 0; v < NV; v++) {
    const int lanes = v + 1 < NV ? IVEC_LANES : last;
    if (from) {
#pragma GCC unroll 16
      for (int p = 0; p < P; p++)
        sum[p][v] = ivec_load_n(from + (size_t)p * pitch + v * IVEC_LANES, lanes);
    } else {
      const ivec all = ivec_load_n(bias + v * IVEC_LANES, lanes);
#pragma GCC unroll 16
      for (int p = 0; p < P; p++) sum[p][v] = all;
    }
#ifdef IVEC_SIGNED
    if (r->list->begin.quads) continue;
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) sum[p][v] += ivec_load(r->weight_sums + r->first + v * IVEC_LANES);
#endif
  }
}

/* Computes the sums of n neighboring tiles: begins with `from` or the bias, and stores to `to`.
 * Sums of neighboring pixels are `pitch` elements apart. */
INLINE void conv_tiles(const struct conv_row *r, int col, int n, const int32_t *from, int32_t *to,
                       size_t pitch, const int P, const int NV)
{
  /* with this pitch there is memory for all lanes */
  const int last = pitch == TILE_LANES ? IVEC_LANES : r->n_filters - (NV - 1) * IVEC_LANES;
  for (; n > 0; n--, col += P, to += (size_t)P * pitch) {
    ivec sum[TILE_PIXELS][TILE_VECTORS] = {0}; /* initialized to silence compilers */
    conv_begin(r, sum, from, pitch, P, NV);
    conv_sum(r, sum, col, P, NV);
#pragma GCC unroll 16
    for (int p = 0; p < P; p++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++)
        ivec_store_n(to + (size_t)p * pitch + v * IVEC_LANES, sum[p][v],
                     v + 1 < NV ? IVEC_LANES : last);
    if (from) from += (size_t)P * pitch;
  }
}

/* Computes the input sums once for all filters, and for later calls with the same inputs, if there
 * is memory for them. */
static void sum_inputs(struct conv_row *r)
{
  const struct mafat_integer_conv_call *c = r->c;
  struct mafat_integer_input_sums *to = c->input_sums;
  r->input_sums = NULL;
  if (!c->weights_zero || !to || c->n_rows * c->n_cols > MAFAT_INTEGER_INPUT_SUMS) return;
  for (int row = 0; row < c->n_rows && !to->known; row++)
    for (int col = 0; col < c->n_cols; col += STRIP_PIXELS)
      conv_input_sums(c, row, col, mafat_min(STRIP_PIXELS, c->n_cols - col),
                      to->at + row * c->n_cols + col);
  to->known = true;
  r->input_sums = to->at;
}

/* Subtracts the weights' zero point times each window's input sum, for columns from `col` on,
 * possibly of several rows. Computes modulo 2^32, because both terms may exceed 32 bits although
 * the result does not. */
static void conv_take_zero(const struct conv_row *r, int col, int n_cols, int32_t *sums,
                           size_t pitch)
{
  int32_t strip[STRIP_PIXELS];
  const int32_t *shares = r->input_sums ? r->input_sums + r->row * r->c->n_cols + col : strip;
  if (!r->input_sums) conv_input_sums(r->c, r->row, col, n_cols, strip);
  for (int p = 0; p < n_cols; p++, sums += pitch) {
    const ivec share = ivec_all((int32_t)((uint32_t)r->c->weights_zero * (uint32_t)shares[p]));
    for (int f = 0; f < r->n_filters; f += IVEC_LANES)
      ivec_store_n(sums + f, ivec_less(ivec_load_n(sums + f, r->n_filters - f), share),
                   r->n_filters - f);
  }
}

/* Tiles of a strip: first n_wide tiles that are `pixels` + 1 columns wide, then n tiles that are
 * `pixels` wide. */
struct conv_tiling {
  int n_wide, n, pixels;
};

static int tiling_columns(struct conv_tiling t)
{
  return t.n_wide * (t.pixels + 1) + t.n * t.pixels;
}

/* Returns tiles of nearly equal width: 19 columns are 10 + 9, not 14 + 5. */
static struct conv_tiling tiling_by(int n_cols, int most)
{
  const int n = mafat_divide_up(n_cols, most), pixels = n_cols / n;
  return (struct conv_tiling){
      .n_wide = n_cols - n * pixels, .n = n - (n_cols - n * pixels), .pixels = pixels};
}

static struct conv_tiling tiling_of(const struct conv_row *r, int n_cols)
{
#ifdef IVEC_FITS
  if (r->follows) return tiling_by(n_cols, SORTED_TILE);
#endif
  (void)r;
  return tiling_by(n_cols, TILE_PIXELS);
}

typedef void (*tile_function)(const struct conv_row *r, int col, int n, const int32_t *from,
                              int32_t *to, size_t pitch);

#define TILE(P, NV) \
  static void tile_##P##_##NV(const struct conv_row *r, int col, int n, const int32_t *from, \
                              int32_t *to, size_t pitch) \
  { \
    conv_tiles(r, col, n, from, to, pitch, P, NV); \
  }

/* Tables of tile functions: [vectors - 1][pixels - 1]. */
#define TILES_2(NV) TILE(1, NV) TILE(2, NV)
#define TILES_4(NV) TILES_2(NV) TILE(3, NV) TILE(4, NV)
#define TILES_6(NV) TILES_4(NV) TILE(5, NV) TILE(6, NV)
#define TILES_12(NV) \
  TILES_6(NV) TILE(7, NV) TILE(8, NV) TILE(9, NV) TILE(10, NV) TILE(11, NV) TILE(12, NV)
#define TILES_14(NV) TILES_12(NV) TILE(13, NV) TILE(14, NV)
#define ROW_2(NV) tile_1_##NV, tile_2_##NV
#define ROW_4(NV) ROW_2(NV), tile_3_##NV, tile_4_##NV
#define ROW_6(NV) ROW_4(NV), tile_5_##NV, tile_6_##NV
#define ROW_12(NV) \
  ROW_6(NV), tile_7_##NV, tile_8_##NV, tile_9_##NV, tile_10_##NV, tile_11_##NV, tile_12_##NV
#define ROW_14(NV) ROW_12(NV), tile_13_##NV, tile_14_##NV
#define JOIN(A, B) A##B
#define TILES(PIXELS, NV) JOIN(TILES_, PIXELS)(NV)
#define ROW(PIXELS, NV) {JOIN(ROW_, PIXELS)(NV)}

TILES(IVEC_PIXELS, 1)
TILES(IVEC_PIXELS, 2)
#if IVEC_VECTORS == 4
TILES(IVEC_PIXELS, 3)
TILES(IVEC_PIXELS, 4)
#endif
static const tile_function tiles[TILE_VECTORS][TILE_PIXELS] = {
    ROW(IVEC_PIXELS, 1), ROW(IVEC_PIXELS, 2),
#if IVEC_VECTORS == 4
    ROW(IVEC_PIXELS, 3), ROW(IVEC_PIXELS, 4),
#endif
};

#ifdef IVEC_FITS
#include "runner/kernels/integer_sorted.h"
#endif

/* Requantizes and stores the sums of one vector of filters for n columns. `first`: index in the
 * panel of the vector's first filter. */
static void conv_put(const struct conv_row *r, int first, int col, int n, const int32_t *sums,
                     size_t pitch)
{
  const int segment = (first - r->c->first) / MAFAT_CHANNEL_BLOCK;
  const struct mafat_integer_segment *s = &r->c->segments[segment];
  const int lane = first % MAFAT_CHANNEL_BLOCK, lanes = mafat_min(IVEC_LANES, s->n_filters - lane);
  if (segment >= r->c->n_segments || lanes <= 0) return;
  const size_t pixel = (size_t)s->pixel_bytes;
  finish_pixels(&r->finish[first / IVEC_LANES], sums, pitch,
                s->rows[r->row] + (size_t)col * pixel + lane, pixel, n, lanes);
}

/* Adds the listed runs to the sums of all tiles from `col` on. */
static void conv_tile_columns(const struct conv_row *r, struct conv_tiling t, int col,
                              const int32_t *from, int32_t *to, size_t pitch)
{
#ifdef IVEC_FITS
  if (r->follows) {
    sorted_columns(r, t, col, from, to, pitch);
    return;
  }
#endif
  const tile_function *of = tiles[mafat_divide_up(r->n_filters, IVEC_LANES) - 1];
  const int wide = t.n_wide * (t.pixels + 1);
  if (t.n_wide) of[t.pixels](r, col, t.n_wide, from, to, pitch);
  if (t.n)
    of[t.pixels - 1](r, col + wide, t.n, from ? from + (size_t)wide * pitch : NULL,
                     to + (size_t)wide * pitch, pitch);
}

/* Computes the tiles of a strip, which begins at column `col`. */
static void conv_strip(struct conv_row *r, struct conv_tiling t, int col)
{
  const struct mafat_integer_conv_call *c = r->c;
  const int n_cols = tiling_columns(t);
  int32_t local[STRIP_PIXELS * TILE_LANES];
  size_t pitch = c->finish ? TILE_LANES : (size_t)c->width;
  int32_t *kept =
      c->sums ? c->sums + ((size_t)r->row * (size_t)c->n_cols + (size_t)col) * (size_t)c->width +
                    r->first
              : NULL;
  int32_t *sums = c->finish ? local : kept;
  if (c->finish && !c->start)
    for (int p = 0; p < n_cols; p++)
      memcpy(local + p * TILE_LANES, kept + p * c->width, (size_t)r->n_filters * sizeof *local);
  if (r->list->begin.quads) choose_runs(r, (struct integer_conv_place){0, 0, 0, 0});
  conv_tile_columns(r, t, col, r->start ? NULL : sums, sums, pitch);
  while (r->list->end.block_slice < c->n_block_slices) {
    choose_runs(r, r->list->end);
    conv_tile_columns(r, t, col, sums, sums, pitch);
  }
  if (c->weights_zero) conv_take_zero(r, col, n_cols, sums, pitch);
  if (!c->finish) return;
  for (int f = 0; f < r->n_filters; f += IVEC_LANES)
    conv_put(r, r->first + f, col, n_cols, sums + f, pitch);
}

/* Computes a row in strips. */
static void conv_columns(struct conv_row *r)
{
  const int n_cols = r->c->n_cols;
  struct conv_tiling left = tiling_of(r, n_cols);
  const int pixels = left.pixels;
  for (int col = 0; col < n_cols;) {
    struct conv_tiling t = {.n_wide = mafat_min(left.n_wide, STRIP_PIXELS / (pixels + 1)),
                            .pixels = pixels};
    if (t.n_wide == left.n_wide)
      t.n = mafat_min(left.n, (STRIP_PIXELS - tiling_columns(t)) / pixels);
    conv_strip(r, t, col);
    left.n_wide -= t.n_wide;
    left.n -= t.n;
    col += tiling_columns(t);
  }
}

/* ---- narrow maps: several rows are requantized together ---- */

/* True if the rows of each input block are contiguous, and each output reads one pixel. */
static bool rows_follow(const struct mafat_integer_conv_call *c)
{
  if (c->window.x.size != 1 || c->window.y.size != 1 || c->window.x.stride != 1 ||
      c->window.y.stride != 1)
    return false;
  for (const struct mafat_integer_block_slice *p = c->block_slices;
       p < c->block_slices + c->n_block_slices; p++)
    for (int row = 1; row < c->n_rows; row++)
      if (p->rows[row] - p->rows[row - 1] != (ptrdiff_t)c->n_cols * p->pixel_bytes) return false;
  return true;
}

/* Requantizes and stores n rows from r->row on, for at most 16 filters; `first` is the index in the
 * panel of the first one. */
static void conv_put_rows(const struct conv_row *r, int first, int n, const int32_t *sums)
{
  enum { BLOCK = MAFAT_CHANNEL_BLOCK };
  const int segment = (first - r->c->first) / BLOCK, lane = first % BLOCK, n_cols = r->c->n_cols;
  const struct mafat_integer_segment *s = &r->c->segments[segment];
  uint8_t bytes[STRIP_PIXELS * BLOCK];
  if (segment >= r->c->n_segments) return;
  const int lanes =
      mafat_min(mafat_min(r->n_filters - (first - r->first), BLOCK - lane), s->n_filters - lane);
  for (int f = 0; f < lanes; f += IVEC_LANES)
    finish_pixels(&r->finish[(first + f) / IVEC_LANES], sums + f, TILE_LANES, bytes + f, BLOCK,
                  n * n_cols, mafat_min(IVEC_LANES, lanes - f));
  for (int row = 0; row < n; row++)
    copy_pixels(s->rows[r->row + row] + lane, (size_t)s->pixel_bytes,
                bytes + (size_t)(row * n_cols) * BLOCK, BLOCK, n_cols, lanes);
}

/* Computes n rows from r->row on for the tile's filters. follow: the rows' inputs are contiguous,
 * so they are computed as one row. */
static void conv_rows(struct conv_row *r, int n, bool follow)
{
  const int n_cols = r->c->n_cols, first_row = r->row;
  int32_t sums[STRIP_PIXELS * TILE_LANES];
  if (follow) {
    point_at_runs(r);
    conv_tile_columns(r, tiling_of(r, n * n_cols), 0, NULL, sums, TILE_LANES);
  }
  for (int row = 0; row < n && !follow; row++) {
    r->row = first_row + row;
    point_at_runs(r);
    conv_tile_columns(r, tiling_of(r, n_cols), 0, NULL, sums + (size_t)(row * n_cols) * TILE_LANES,
                      TILE_LANES);
  }
  r->row = first_row;
  if (r->c->weights_zero) conv_take_zero(r, 0, n * n_cols, sums, TILE_LANES);
  for (int f = 0; f < r->n_filters; f += MAFAT_CHANNEL_BLOCK)
    conv_put_rows(r, r->first + f, n, sums + f);
}

/* Computes several whole rows at a time. Returns false, and computes no outputs, if the call does
 * not allow it. */
static bool conv_narrow(struct conv_row *r, int end)
{
  const struct mafat_integer_conv_call *c = r->c;
  if (!c->start || !c->finish || c->n_rows < 2 || c->n_cols > STRIP_PIXELS / 4) return false;
  if (c->weights_zero && !r->input_sums) return false;
  r->row = 0;
  begin_runs(r);
  if (r->list->end.block_slice < c->n_block_slices) return false;
  const bool follow = rows_follow(c);
  for (int row = 0, n; row < c->n_rows; row += n) {
    n = mafat_min(c->n_rows - row, STRIP_PIXELS / c->n_cols);
    for (r->first = c->first; r->first < end; r->first += TILE_LANES) {
      r->row = row;
      r->n_filters = mafat_min(TILE_LANES, end - r->first);
      conv_rows(r, n, follow);
    }
  }
  return true;
}

#ifdef IVEC_SIGNED
/* Computes 128 times the sum of each filter's weights in this call. */
static void conv_weight_sums(const struct mafat_integer_conv_call *c, int32_t *sums)
{
  int quads = 0;
  for (int i = 0; i < c->n_block_slices; i++)
    quads += (c->block_slices[i].n_channels + 3) / 4 * mafat_window_area(&c->window);
  const int8_t *w = c->weights;
  memset(sums, 0, (MAFAT_PANEL + IVEC_LANES) * sizeof *sums);
  for (int q = 0; q < quads; q++)
    for (int f = 0; f < c->width; f++, w += 4) sums[f] += 128 * (w[0] + w[1] + w[2] + w[3]);
}
#endif

static void conv(const struct mafat_integer_conv_call *c)
{
  struct conv_row r;
  struct conv_list own;
  const int end = c->end ? c->end : c->width;
  r.c = c;
  r.list = c->runs ? (struct conv_list *)(void *)c->runs->memory : &own;
  r.bounds = bounds_of(&c->to.out);
#ifdef IVEC_SIGNED
  int32_t weight_sums[MAFAT_PANEL + IVEC_LANES];
  conv_weight_sums(c, weight_sums);
  r.weight_sums = weight_sums;
#endif
  for (int f = 0; c->finish && f < c->width; f += IVEC_LANES)
    finish_choose(&r.finish[f / IVEC_LANES], ivec_load_n(c->to.multipliers + f, c->width - f),
                  ivec_load_n(c->to.shifts + f, c->width - f), &c->to.out, &r.bounds);
  sum_inputs(&r);
  if (conv_narrow(&r, end)) return;
  for (r.row = 0; r.row < c->n_rows; r.row++) {
    if (r.row == 0) begin_runs(&r);
    else if (r.list->begin.quads) choose_runs(&r, (struct integer_conv_place){0, 0, 0, 0});
    else point_at_runs(&r);
    for (r.first = c->first; r.first < end; r.first += TILE_LANES) {
      r.n_filters = mafat_min(TILE_LANES, end - r.first);
      conv_columns(&r);
    }
  }
}
