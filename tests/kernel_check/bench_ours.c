/* Our kernels on whole layers, for bench.c. They are called like in
 * runner/engine/kinds/conv_direct.c: bands of rows that fit a cache, panels of 32 filters,
 * channels in block slices. */
#include "tests/kernel_check/bench.h"

#include "predictor/plan/packing.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  INPUT_BYTES = 512 << 10, /* most bytes of input of a band of output rows */
  SPLIT_CHANNELS = 256,    /* channels of a call if a panel's weights exceed SPLIT_BYTES */
  SPLIT_BYTES = 256 << 10,
  TURN_TILES = 96, /* Winograd: at a time, most tiles and most bytes of transformed input */
  TURN_BYTES = 2 << 20,
  MAX_POINTS = 64, /* points of a Winograd tile */
  MAX_SIDE = 6
};

/* A map with its padding: [row][block][column][width of the block]. */
struct map {
  float *floats;
  int h, w, c;    /* with padding */
  int pad_before; /* rows of padding above the map, and columns to its left */
  size_t row_floats;
};

struct ours {
  const struct bench_shape *shape;
  const struct mafat_kernels *k;
  struct map in, out;
  float *weights, *other; /* packed weights; second input of `blend` */
  int n_blocks, rows_per_call;
  struct mafat_conv_block_slice *block_slices;
  const float **in_rows;  /* [block][row of a band] */
  float **out_rows;       /* [segment][row of a band] */
  /* Winograd: */
  const struct mafat_winograd *size;
  int tiles_across, tile_rows, n_tiles, block; /* block: channels in a block */
  float *values, *sums;
};

/* --- maps --- */

static int map_open(struct map *m, int h, int w, int c, int pad_before, int pad_after)
{
  *m = (struct map){.h = h + pad_before + pad_after,
                    .w = w + pad_before + pad_after,
                    .c = c,
                    .pad_before = pad_before};
  m->row_floats = (size_t)m->w * (size_t)mafat_pixel_width(c);
  size_t bytes = (size_t)m->h * m->row_floats * sizeof(float) + 64;
  m->floats = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!m->floats) return -1;
  memset(m->floats, 0, bytes);
  return 0;
}

/* Address of row y and column x of a block; padding counts as rows and columns. */
static float *map_at(const struct map *m, int block, int y, int x)
{
  return m->floats + (size_t)y * m->row_floats +
         (size_t)block * MAFAT_CHANNEL_BLOCK * (size_t)m->w +
         (size_t)x * (size_t)mafat_block_width(m->c, block);
}

static void map_copy(const struct map *m, float *planes, int h, int w, bool to_planes)
{
  for (int ch = 0; ch < m->c; ch++)
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++, planes++) {
        float *at = map_at(m, ch / 16, y + m->pad_before, x + m->pad_before) + ch % 16;
        if (to_planes) *planes = *at;
        else *at = *planes;
      }
}

static int block_channels(int c, int block)
{
  return mafat_min(MAFAT_CHANNEL_BLOCK, c - block * MAFAT_CHANNEL_BLOCK);
}

/* --- direct --- */

/* Packs panels as in predictor/plan/packing.h, each followed by scale and bias. */
static float *pack(const struct bench_shape *s, const struct bench_data *d)
{
  const int taps = s->size * s->size, padded = mafat_round_up(s->filters, MAFAT_PANEL_STEP);
  const size_t bytes = ((size_t)s->c * (size_t)taps + 2) * (size_t)padded * sizeof(float);
  /* aligned as in a packed file */
  float *packed = aligned_alloc(64, (bytes + 63) / 64 * 64), *w = packed;
  if (!packed) return NULL;
  memset(packed, 0, bytes);
  for (int f = 0; f < s->filters; f += MAFAT_PANEL) {
    const int n = mafat_min(MAFAT_PANEL, s->filters - f), width = mafat_panel_width(n);
    for (int b = 0; b < mafat_n_blocks(s->c); b++)
      for (int tap = 0; tap < taps; tap++)
        for (int ch = 16 * b; ch < 16 * b + block_channels(s->c, b); ch++, w += width)
          for (int i = 0; i < n; i++)
            w[i] = d->weights[((size_t)(f + i) * (size_t)s->c + (size_t)ch) * (size_t)taps +
                              (size_t)tap];
    for (int i = 0; i < n; i++) {
      w[i] = 1;
      w[width + i] = d->bias[f + i];
    }
    w += 2 * width;
  }
  return packed;
}

static void segments_at(const struct ours *o, struct mafat_conv_call *call, int filter, int n,
                        int y0)
{
  for (int f = filter; f < filter + n; f += 16) {
    float **rows = o->out_rows + call->n_segments * o->rows_per_call;
    for (int r = 0; r < call->n_rows; r++) rows[r] = map_at(&o->out, f / 16, y0 + r, 0);
    call->segments[call->n_segments++] = (struct mafat_conv_segment){
        rows, mafat_min(16, filter + n - f), mafat_block_width(o->out.c, f / 16)};
  }
}

static const float *run_panel(const struct ours *o, const float *w, int filter, int y0, int n_rows)
{
  const struct bench_shape *s = o->shape;
  const int n = mafat_min(MAFAT_PANEL, s->filters - filter), width = mafat_panel_width(n),
            taps = s->size * s->size;
  const bool split = (size_t)s->c * (size_t)taps * 16 * sizeof(float) > SPLIT_BYTES;
  const int blocks_per_call = split ? SPLIT_CHANNELS / 16 : o->n_blocks;
  const float *end = w + (size_t)s->c * (size_t)taps * (size_t)width;
  struct mafat_conv_call call = {.n_rows = n_rows,
                                 .n_cols = o->out.w,
                                 .window = mafat_window_square(s->size, s->stride, 0),
                                 .width = width,
                                 .scale = end,
                                 .bias = end + width,
                                 .activation.kind = MAFAT_LEAKY};
  segments_at(o, &call, filter, n, y0);
  for (int b = 0; b < o->n_blocks; b += blocks_per_call) {
    call.block_slices = o->block_slices + b;
    call.n_block_slices = mafat_min(blocks_per_call, o->n_blocks - b);
    call.weights = w + (size_t)(16 * b * taps) * (size_t)width;
    call.start = b == 0;
    call.finish = b + call.n_block_slices == o->n_blocks;
    o->k->conv(&call);
  }
  return end + 2 * width;
}

static void run_conv(void *state)
{
  const struct ours *o = state;
  const struct bench_shape *s = o->shape;
  const int in_rows = (o->rows_per_call - 1) * s->stride + s->size;
  for (int y = 0; y < o->out.h; y += o->rows_per_call) {
    const int n = mafat_min(o->rows_per_call, o->out.h - y);
    for (int b = 0; b < o->n_blocks; b++)
      for (int r = 0; r < (n - 1) * s->stride + s->size; r++)
        o->in_rows[b * in_rows + r] = map_at(&o->in, b, y * s->stride + r, 0);
    const float *w = o->weights;
    for (int f = 0; f < s->filters; f += MAFAT_PANEL) w = run_panel(o, w, f, y, n);
  }
}

static void run_depthwise(void *state)
{
  const struct ours *o = state;
  const struct bench_shape *s = o->shape;
  const int taps = s->size * s->size;
  const float *w = o->weights;
  for (int b = 0; b < o->n_blocks; b++) {
    const int n = block_channels(s->c, b), width = mafat_panel_width(n);
    struct mafat_depthwise_call call = {.rows = o->in_rows,
                                        .out = o->out_rows,
                                        .n_channels = n,
                                        .in_pixel_floats = mafat_block_width(s->c, b),
                                        .out_pixel_floats = mafat_block_width(s->c, b),
                                        .n_cols = o->out.w,
                                        .window = mafat_window_square(s->size, s->stride, 0),
                                        .weights = w,
                                        .scale = w + taps * width,
                                        .bias = w + (taps + 1) * width,
                                        .width = width,
                                        .activation.kind = MAFAT_LEAKY};
    for (int y = 0; y < o->out.h; y += o->rows_per_call) {
      call.n_rows = mafat_min(o->rows_per_call, o->out.h - y);
      for (int r = 0; r < (call.n_rows - 1) * s->stride + s->size; r++)
        o->in_rows[r] = map_at(&o->in, b, y * s->stride + r, 0);
      for (int r = 0; r < call.n_rows; r++) o->out_rows[r] = map_at(&o->out, b, y + r, 0);
      o->k->depthwise(&call);
    }
    w += (taps + 2) * width;
  }
}

static float *pack_depthwise(const struct bench_shape *s, const struct bench_data *d)
{
  const int taps = s->size * s->size;
  float *packed = calloc((size_t)(taps + 2) * (size_t)mafat_round_up(s->c, 16), sizeof *packed),
        *w = packed;
  if (!packed) return NULL;
  for (int b = 0; b < mafat_n_blocks(s->c); b++) {
    const int n = block_channels(s->c, b), width = mafat_panel_width(n);
    for (int i = 0; i < n; i++) {
      for (int tap = 0; tap < taps; tap++)
        w[tap * width + i] = d->weights[(16 * b + i) * taps + tap];
      w[taps * width + i] = 1;
      w[(taps + 1) * width + i] = d->bias[16 * b + i];
    }
    w += (taps + 2) * width;
  }
  return packed;
}

/* --- kernels of single rows --- */

static void run_maxpool(void *state)
{
  const struct ours *o = state;
  const struct bench_shape *s = o->shape;
  for (int b = 0; b < o->n_blocks; b++)
    for (int y = 0; y < o->out.h; y++) {
      struct mafat_pool_call call = {.rows = o->in_rows,
                                     .n_rows = mafat_min(s->size, s->h - y * s->stride),
                                     .in_end = s->w,
                                     .out = map_at(&o->out, b, y, 0),
                                     .n_cols = o->out.w,
                                     .taps = mafat_window_square(s->size, s->stride, 0).x,
                                     .n_channels = block_channels(s->c, b),
                                     .in_pixel_floats = mafat_block_width(s->c, b),
                                     .out_pixel_floats = mafat_block_width(s->c, b)};
      for (int r = 0; r < call.n_rows; r++) o->in_rows[r] = map_at(&o->in, b, y * s->stride + r, 0);
      o->k->maxpool(&call);
    }
}

static void run_blend(void *state)
{
  const struct ours *o = state;
  for (int b = 0; b < o->n_blocks; b++)
    for (int y = 0; y < o->out.h; y++) {
      const int pixel = mafat_block_width(o->shape->c, b);
      const float *x = map_at(&o->in, b, y, 0);
      const struct mafat_blend_call call = {.x = x,
                                            .z = o->other + (x - o->in.floats),
                                            .y = map_at(&o->out, b, y, 0),
                                            .n_cols = o->out.w,
                                            .n_channels = block_channels(o->shape->c, b),
                                            .x_pixel_floats = pixel,
                                            .z_pixel_floats = pixel,
                                            .y_pixel_floats = pixel,
                                            .alpha = 1,
                                            .beta = 1,
                                            .activation.kind = MAFAT_LINEAR};
      o->k->blend(&call);
    }
}

static void run_scale(void *state)
{
  const struct ours *o = state;
  for (int b = 0; b < o->n_blocks; b++)
    for (int y = 0; y < o->out.h; y++) {
      const int pixel = mafat_block_width(o->shape->c, b);
      o->k->scale(map_at(&o->in, b, y, 0), pixel, map_at(&o->out, b, y, 0), pixel, o->out.w,
                  block_channels(o->shape->c, b), o->other, o->other + 16,
                  mafat_activating(MAFAT_LEAKY));
    }
}

/* --- Winograd --- */

/* Number of floats from one point's transformed values to the next point's, for `channels`. */
static size_t point_floats(const struct ours *o, int channels)
{
  return ((size_t)(o->n_tiles * channels + 15) / 16 | 1) * 16;
}

static float *block_values(const struct ours *o, int channel)
{
  return o->values +
         (size_t)(channel / o->block) * (size_t)o->size->points * point_floats(o, o->block);
}

static int block_size(const struct ours *o, int channel)
{
  return mafat_min(o->block, o->shape->c - channel / o->block * o->block);
}

static void transform_inputs(const struct ours *o, int tile_row, int n_rows)
{
  for (int b = 0; b < o->n_blocks; b++)
    for (int r = 0; r < n_rows; r++) {
      const int n = block_size(o, 16 * b);
      const struct mafat_winograd_input_call call = {
          .rows = o->in_rows, .n_cols = o->in.w, .n_channels = block_channels(o->shape->c, b),
          .pixel_floats = mafat_block_width(o->shape->c, b), .n_tiles = o->tiles_across,
          .values = block_values(o, 16 * b) + (size_t)(r * o->tiles_across * n + 16 * b % o->block),
          .point_floats = point_floats(o, o->block), .tile_floats = n};
      for (int y = 0; y < o->size->window; y++)
        o->in_rows[y] = map_at(&o->in, b, (tile_row + r) * o->size->outputs + y, 0);
      o->k->winograd[o->size->size].input(&call);
    }
}

static void transform_outputs(const struct ours *o, int filter, int n, int tile_row, int n_rows,
                              const float *scale, const float *bias)
{
  const int width = mafat_panel_width(n);
  for (int f = filter; f < filter + n; f += 16)
    for (int r = 0; r < n_rows; r++) {
      const int y = (tile_row + r) * o->size->outputs;
      const struct mafat_winograd_output_call call = {
          .values = o->sums + (size_t)(r * o->tiles_across * width + f - filter),
          .point_floats = point_floats(o, width),
          .tile_floats = width,
          .n_tiles = o->tiles_across,
          .rows = o->out_rows,
          .n_rows = mafat_min(o->size->outputs, o->out.h - y),
          .n_cols = o->out.w,
          .n_filters = mafat_min(16, filter + n - f),
          .pixel_floats = mafat_block_width(o->out.c, f / 16),
          .scale = scale + f - filter,
          .bias = bias + f - filter,
          .activation.kind = MAFAT_LEAKY};
      for (int i = 0; i < call.n_rows; i++) o->out_rows[i] = map_at(&o->out, f / 16, y + i, 0);
      o->k->winograd[o->size->size].output(&call);
    }
}

static void run_products(const struct ours *o, const float *weights, int width, int n_tiles)
{
  for (int ch = 0; ch < o->shape->c; ch += o->block) {
    const int n = block_size(o, ch);
    const struct mafat_product_call call = {.values = block_values(o, ch),
                                            .values_point = point_floats(o, o->block),
                                            .tile_floats = n,
                                            .weights = weights + ch * width,
                                            .weights_point = (size_t)(o->shape->c * width),
                                            .sums = o->sums,
                                            .sums_point = point_floats(o, width),
                                            .n_points = o->size->points,
                                            .n_tiles = n_tiles,
                                            .n_channels = n,
                                            .width = width,
                                            .start = ch == 0,
                                            .apart = ch > 0 && o->size->block};
    o->k->product(&call);
  }
}

static void run_winograd(void *state)
{
  const struct ours *o = state;
  const struct bench_shape *s = o->shape;
  const int all_rows = mafat_winograd_tiles(o->size, o->out.h);
  for (int tile_row = 0; tile_row < all_rows; tile_row += o->tile_rows) {
    const int n_rows = mafat_min(o->tile_rows, all_rows - tile_row);
    const float *w = o->weights;
    transform_inputs(o, tile_row, n_rows);
    for (int f = 0; f < s->filters; f += MAFAT_PANEL) {
      const int n = mafat_min(MAFAT_PANEL, s->filters - f), width = mafat_panel_width(n);
      run_products(o, w, width, n_rows * o->tiles_across);
      w += (size_t)o->size->points * (size_t)s->c * (size_t)width;
      transform_outputs(o, f, n, tile_row, n_rows, w, w + width);
      w += 2 * width;
    }
  }
}

/* Transforms a panel's filters at `from` to [point][channel][width]; points are `point` floats
 * apart. Returns the address after the filters. */
static const float *transform_panel(const struct ours *o, const float *from, int width, float *to,
                                    size_t point)
{
  for (int b = 0; b < o->n_blocks; b++) {
    const int n = block_channels(o->shape->c, b);
    o->k->winograd[o->size->size].weights(from, n, width, to + 16 * b * width, point);
    from += 9 * n * width;
  }
  return from;
}

/* Transforms one panel after another, to the same memory. */
static void run_weights(void *state)
{
  const struct ours *o = state;
  const float *from = o->weights;
  for (int f = 0; f < o->shape->filters; f += MAFAT_PANEL) {
    const int width = mafat_panel_width(mafat_min(MAFAT_PANEL, o->shape->filters - f));
    from = transform_panel(o, from, width, o->values,
                           (size_t)(o->shape->c * width + 15) / 16 * 16 | 16) +
           2 * width;
  }
}

static int make_weights(struct ours *o, enum mafat_winograd_size size)
{
  o->size = mafat_winograd_find(size);
  o->values = aligned_alloc(64, (size_t)o->size->points * ((size_t)o->shape->c * MAFAT_PANEL + 16) *
                                    sizeof(float));
  return o->values ? 0 : -1;
}

/* Transforms all weights beforehand: [panel][point][channel][width], scale, bias. */
static int transform_weights(struct ours *o)
{
  const struct bench_shape *s = o->shape;
  float *all = calloc(((size_t)s->c * (size_t)o->size->points + 2) *
                          (size_t)mafat_round_up(s->filters, 8),
                      sizeof *all),
        *to = all;
  if (!all) return -1;
  const float *from = o->weights;
  for (int f = 0; f < s->filters; f += MAFAT_PANEL) {
    const int width = mafat_panel_width(mafat_min(MAFAT_PANEL, s->filters - f));
    from = transform_panel(o, from, width, to, (size_t)(s->c * width));
    to += (size_t)o->size->points * (size_t)s->c * (size_t)width;
    memcpy(to, from, 2 * (size_t)width * sizeof *to);
    to += 2 * width;
    from += 2 * width;
  }
  free(o->weights);
  o->weights = all;
  return 0;
}

static int make_winograd(struct ours *o, enum mafat_winograd_size size)
{
  o->size = mafat_winograd_find(size);
  o->block = mafat_min(o->size->block ? o->size->block : 128, o->shape->c);
  o->tiles_across = mafat_winograd_tiles(o->size, o->out.w);
  int tiles = mafat_min(TURN_TILES, TURN_BYTES / (o->size->points * 4 * o->shape->c));
  o->tile_rows = tiles / o->tiles_across > 0 ? tiles / o->tiles_across : 1;
  o->tile_rows = mafat_min(o->tile_rows, mafat_winograd_tiles(o->size, o->out.h));
  o->n_tiles = o->tile_rows * o->tiles_across;
  size_t points = (size_t)o->size->points * sizeof(float);
  size_t bytes =
      (size_t)mafat_divide_up(o->shape->c, o->block) * points * point_floats(o, o->block);
  o->values = aligned_alloc(64, bytes);
  o->sums = aligned_alloc(64, points * point_floats(o, MAFAT_PANEL));
  if (!o->values || !o->sums) return -1;
  memset(o->values, 0, bytes);
  return transform_weights(o);
}

/* --- opening a contender --- */

static void ours_read(void *state, float *planes)
{
  const struct ours *o = state;
  map_copy(&o->out, planes, o->out.h, o->out.w, true);
}

static void ours_close(void *state)
{
  struct ours *o = state;
  if (!o) return;
  free(o->in.floats);
  free(o->out.floats);
  free(o->weights);
  free(o->other);
  free(o->block_slices);
  free(o->in_rows);
  free(o->out_rows);
  free(o->values);
  free(o->sums);
  free(o);
}

/* Number of output rows whose input stays in the second-level cache. */
static int choose_rows(const struct bench_shape *s, int out_h)
{
  size_t row = ((size_t)s->w + (size_t)s->size) * (size_t)mafat_min(s->c, 256) * sizeof(float);
  int rows = (int)(INPUT_BYTES / row) / s->stride;
  return mafat_min(rows > 4 ? rows : 4, out_h);
}

static bool is_kernel(const struct bench_shape *s, const char *name)
{
  return strcmp(s->kernel, name) == 0;
}

static int ours_fill(struct ours *o, const struct bench_data *d)
{
  const struct bench_shape *s = o->shape;
  const bool has_taps = is_kernel(s, "conv") || is_kernel(s, "depthwise");
  const int pad = has_taps ? s->size / 2 : 0, after = has_taps ? s->size + MAX_SIDE : 0;
  const int out_h = bench_out(s->h, s->stride), out_w = bench_out(s->w, s->stride);
  o->n_blocks = mafat_n_blocks(s->c);
  o->rows_per_call = choose_rows(s, out_h);
  size_t in_rows = (size_t)mafat_min(o->rows_per_call * s->stride + s->size, 1 << 16) + MAX_POINTS;
  if (map_open(&o->in, s->h, s->w, s->c, pad, after) ||
      map_open(&o->out, out_h, out_w, s->filters, 0, 0))
    return -1;
  map_copy(&o->in, d->input, s->h, s->w, false);
  o->block_slices = calloc((size_t)o->n_blocks, sizeof *o->block_slices);
  o->in_rows = calloc((size_t)o->n_blocks * in_rows, sizeof *o->in_rows);
  o->out_rows = calloc(2 * ((size_t)o->rows_per_call + MAX_POINTS), sizeof *o->out_rows);
  const size_t n_other = (size_t)o->in.h * o->in.row_floats + 32;
  o->other = calloc(n_other, sizeof(float));
  if (!o->block_slices || !o->in_rows || !o->out_rows || !o->other) return -1;
  for (size_t i = 0; i < n_other; i++) o->other[i] = 0.5f;
  if (!has_taps && !is_kernel(s, "winograd_weights")) return 0;
  o->weights = is_kernel(s, "depthwise") ? pack_depthwise(s, d) : pack(s, d);
  for (int b = 0; b < o->n_blocks; b++)
    o->block_slices[b] = (struct mafat_conv_block_slice){
        o->in_rows + b * ((o->rows_per_call - 1) * s->stride + s->size), block_channels(s->c, b),
        mafat_block_width(s->c, b)};
  return o->weights ? 0 : -1;
}

static int append(const struct bench_shape *s, const struct bench_data *d,
                  const struct mafat_kernels *k, const char *suffix, void (*run)(void *),
                  enum mafat_winograd_size size, struct bench_contender *list, int n)
{
  struct bench_contender *c = &list[n];
  struct ours *o = calloc(1, sizeof *o);
  if (!o) return -1;
  o->shape = s;
  o->k = k;
  if (ours_fill(o, d) || (run == run_winograd && make_winograd(o, size)) ||
      (run == run_weights && make_weights(o, size))) {
    ours_close(o);
    return -1;
  }
  *c = (struct bench_contender){
      .level = k, .state = o, .run = run, .read = ours_read, .close = ours_close};
  snprintf(c->name, sizeof c->name, "%s%s", k->name, suffix);
  return n + 1;
}

int bench_ours(const struct bench_shape *s, const struct bench_data *d,
               const struct mafat_kernels *k, struct bench_contender *list, int n)
{
  static const struct {
    const char *kernel;
    void (*run)(void *state);
  } runs[] = {{"conv", run_conv},
              {"depthwise", run_depthwise},
              {"maxpool", run_maxpool},
              {"blend", run_blend},
              {"scale", run_scale}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs && n >= 0; i++)
    if (is_kernel(s, runs[i].kernel))
      n = append(s, d, k, "", runs[i].run, MAFAT_WINOGRAD_4X4, list, n);
  const bool weights = is_kernel(s, "winograd_weights");
  if (!weights && (!is_kernel(s, "conv") || s->size != 3 || s->stride != 1)) return n;
  void (*run)(void *state) = weights ? run_weights : run_winograd;
  if (n >= 0) n = append(s, d, k, " winograd", run, MAFAT_WINOGRAD_4X4, list, n);
  if (n >= 0) n = append(s, d, k, " winograd-large", run, MAFAT_WINOGRAD_6X6, list, n);
  return n;
}
