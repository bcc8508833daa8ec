/* --bench of integer convolutions: times each level of integer kernels (one for each instruction
 * set), and the float kernel for the same layer, in turn, and takes the fastest run. A level's peak
 * is that of float multiply-adds, times 4 if an instruction sums 4 products of bytes, or times 2 if
 * it sums 2 products of 16-bit values, since these instructions use the same execution units.
 * Allocates buffers, prints to standard output. Called by kernel_check.c. */
#include "tests/kernel_check/bench.h"

#include "base/blocks.h"
#include "predictor/plan/packing.h"
#include "runner/kernels/integer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Layers of MobileNet v2 with 224 x 224 pixels. */
static const struct bench_shape shapes[] = {
    {"first", "conv", 224, 224, 3, 32, 3, 2},
    {"112: 32-16", "conv", 112, 112, 32, 16, 1, 1},
    {"112: 16-96", "conv", 112, 112, 16, 96, 1, 1},
    {"56: 96-24", "conv", 56, 56, 96, 24, 1, 1},
    {"56: 24-144", "conv", 56, 56, 24, 144, 1, 1},
    {"28: 144-32", "conv", 28, 28, 144, 32, 1, 1},
    {"28: 32-192", "conv", 28, 28, 32, 192, 1, 1},
    {"14: 192-64", "conv", 14, 14, 192, 64, 1, 1},
    {"14: 64-384", "conv", 14, 14, 64, 384, 1, 1},
    {"14: 384-96", "conv", 14, 14, 384, 96, 1, 1},
    {"14: 96-576", "conv", 14, 14, 96, 576, 1, 1},
    {"7: 576-160", "conv", 7, 7, 576, 160, 1, 1},
    {"7: 160-960", "conv", 7, 7, 160, 960, 1, 1},
    {"7: 960-320", "conv", 7, 7, 960, 320, 1, 1},
    {"7: 320-1280", "conv", 7, 7, 320, 1280, 1, 1},
    {"1: 1280-1001", "conv", 1, 1, 1280, 1001, 1, 1},
    {"56: 64-64 3x3", "conv", 56, 56, 64, 64, 3, 1},
    {"14: 256-256 3x3", "conv", 14, 14, 256, 256, 3, 1},
    {"112: 32", "depthwise", 112, 112, 32, 32, 3, 1},
    {"112: 96 /2", "depthwise", 112, 112, 96, 96, 3, 2},
    {"56: 144", "depthwise", 56, 56, 144, 144, 3, 1},
    {"28: 192", "depthwise", 28, 28, 192, 192, 3, 1},
    {"14: 384", "depthwise", 14, 14, 384, 384, 3, 1},
    {"7: 960", "depthwise", 7, 7, 960, 960, 3, 1},
};

enum { INPUT_BYTES = 256 << 10, MAX_ROWS = 512, MAX_LEVELS = 8, SORTED_ROOM = 8192 };

struct layer {
  const struct bench_shape *shape;
  const struct mafat_integer_kernels *k;
  int in_w, in_h, out_w, out_h, rows_per_call;
  uint8_t *in, *out;
  int8_t *weights;
  uint16_t (*sorted)[SORTED_ROOM]; /* [panel]: memory for mafat_integer_conv_call.sorted */
  int32_t *finish; /* for each panel: MAFAT_PANEL biases, then the multipliers, then the shifts */
  struct mafat_integer_block_slice *block_slices;
  const uint8_t **in_rows; /* [block][row] */
  uint8_t *out_rows[2][MAX_ROWS];
};

static uint8_t *at(uint8_t *map, int w, int c, int block, int y, int x)
{
  return map +
         ((size_t)y * (size_t)mafat_pixel_width(c) + (size_t)block * MAFAT_CHANNEL_BLOCK) *
             (size_t)w +
         (size_t)x * (size_t)mafat_block_width(c, block);
}

static int block_channels(int c, int block)
{
  return mafat_min(MAFAT_CHANNEL_BLOCK, c - block * MAFAT_CHANNEL_BLOCK);
}

static struct mafat_integer_finish finish_of(const struct layer *l, int filter)
{
  const int32_t *rows = l->finish + 3 * filter;
  /* as in MobileNet: layers with fewer filters than channels have no ReLU, so outputs are signed */
  const bool positive = l->shape->filters >= l->shape->c;
  return (struct mafat_integer_finish){rows, rows + MAFAT_PANEL, rows + 2 * MAFAT_PANEL,
                                       {.scale = 1, .zero = positive ? 0 : 128, .most = 255}};
}

static int quads_of(const struct bench_shape *s)
{
  int quads = 0;
  for (int b = 0; b < mafat_n_blocks(s->c); b++)
    quads += mafat_divide_up(block_channels(s->c, b), 4);
  return quads * s->size * s->size;
}

static void run_panels(struct layer *l, int y0, int n_rows)
{
  const struct bench_shape *s = l->shape;
  const int8_t *w = l->weights;
  for (int f = 0; f < s->filters; f += MAFAT_PANEL) {
    const int n = mafat_min(MAFAT_PANEL, s->filters - f), width = mafat_panel_width(n);
    struct mafat_integer_conv_call call = {.block_slices = l->block_slices,
                                           .n_block_slices = mafat_n_blocks(s->c),
                                           .n_rows = n_rows,
                                           .n_cols = l->out_w,
                                           .window = mafat_window_square(s->size, s->stride, 0),
                                           .weights = w,
                                           .width = width,
                                           .to = finish_of(l, f),
                                           .start = true,
                                           .finish = true,
                                           .sorted = l->sorted[f / MAFAT_PANEL],
                                           .sorted_capacity = SORTED_ROOM};
    if (y0 == 0) call.sorted[0] = 0;
    for (int i = f; i < f + n; i += MAFAT_CHANNEL_BLOCK, call.n_segments++) {
      for (int r = 0; r < n_rows; r++)
        l->out_rows[call.n_segments][r] =
            at(l->out, l->out_w, s->filters, i / MAFAT_CHANNEL_BLOCK, y0 + r, 0);
      call.segments[call.n_segments] =
          (struct mafat_integer_segment){l->out_rows[call.n_segments],
                                         mafat_min(MAFAT_CHANNEL_BLOCK, f + n - i),
                                         mafat_block_width(s->filters, i / MAFAT_CHANNEL_BLOCK)};
    }
    l->k->conv(&call);
    w += 4 * quads_of(s) * width;
  }
}

static void run_depthwise(struct layer *l, int y0, int n_rows, int b)
{
  const struct bench_shape *s = l->shape;
  const int n = block_channels(s->c, b), width = mafat_panel_width(n),
            pixel = mafat_block_width(s->c, b);
  for (int r = 0; r < n_rows; r++) l->out_rows[0][r] = at(l->out, l->out_w, s->c, b, y0 + r, 0);
  const struct mafat_integer_depthwise_call call = {
      .rows = l->block_slices[b].rows,
      .out = l->out_rows[0],
      .n_channels = n,
      .in_pixel_bytes = pixel,
      .out_pixel_bytes = pixel,
      .n_rows = n_rows,
      .n_cols = l->out_w,
      .window = mafat_window_square(s->size, s->stride, 0),
      .weights = l->weights + b * MAFAT_CHANNEL_BLOCK * s->size * s->size,
      .width = width,
      .to = finish_of(l, 0)};
  l->k->depthwise(&call);
}

static void run_layer(void *state)
{
  struct layer *l = state;
  const struct bench_shape *s = l->shape;
  const int in_rows = (l->rows_per_call - 1) * s->stride + s->size;
  for (int y = 0; y < l->out_h; y += l->rows_per_call) {
    const int n = mafat_min(l->rows_per_call, l->out_h - y);
    for (int b = 0; b < mafat_n_blocks(s->c); b++)
      for (int r = 0; r < (n - 1) * s->stride + s->size; r++)
        l->in_rows[b * in_rows + r] = at(l->in, l->in_w, s->c, b, y * s->stride + r, 0);
    if (strcmp(s->kernel, "conv") == 0) run_panels(l, y, n);
    else
      for (int b = 0; b < mafat_n_blocks(s->c); b++) run_depthwise(l, y, n, b);
  }
}

static void close_layer(void *state)
{
  struct layer *l = state;
  if (!l) return;
  free(l->in);
  free(l->out);
  free(l->weights);
  free(l->sorted);
  free(l->finish);
  free(l->block_slices);
  free(l->in_rows);
  free(l);
}

static void *filled(size_t n, uint32_t seed)
{
  uint8_t *x = aligned_alloc(64, (n + 127) / 64 * 64);
  for (size_t i = 0; x && i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (uint8_t)(seed >> 24);
  }
  return x;
}

/* Weights distributed like real ones, around 0: sums of two weights are below 128, and so are some
 * sums of four. The speed of the kernels in runner/kernels/integer_sorted.h depends on this. */
static int8_t *filled_with_weights(size_t n)
{
  enum { TERMS = 8 };
  int8_t *x = aligned_alloc(64, (n + 127) / 64 * 64), *drawn = filled(TERMS * n, 3);
  for (size_t i = 0; x && drawn && i < n; i++) {
    int sum = 0;
    for (int d = 0; d < TERMS; d++) sum += drawn[TERMS * i + (size_t)d];
    x[i] = (int8_t)(sum / TERMS);
  }
  free(drawn);
  return x;
}

static struct layer *open_layer(const struct bench_shape *s, const struct mafat_integer_kernels *k)
{
  struct layer *l = calloc(1, sizeof *l);
  if (!l) return NULL;
  const int blocks = mafat_n_blocks(s->c), panels = mafat_divide_up(s->filters, MAFAT_PANEL);
  *l = (struct layer){.shape = s,
                      .k = k,
                      .in_w = s->w + s->size,
                      .in_h = s->h + s->size,
                      .out_w = bench_out(s->w, s->stride),
                      .out_h = bench_out(s->h, s->stride)};
  const int rows = INPUT_BYTES / (l->in_w * mafat_pixel_width(s->c)) / s->stride;
  l->rows_per_call = mafat_min(mafat_min(mafat_max(rows, 4), l->out_h), MAX_ROWS);
  const int in_rows = (l->rows_per_call - 1) * s->stride + s->size;
  l->in = filled((size_t)(l->in_h * l->in_w) * (size_t)mafat_pixel_width(s->c) + 64, 1);
  l->out = filled((size_t)(l->out_h * l->out_w) * (size_t)mafat_pixel_width(s->filters) + 64, 2);
  l->weights = filled_with_weights((size_t)(4 * quads_of(s)) * (size_t)(panels * MAFAT_PANEL) + 64);
  l->sorted = calloc((size_t)panels, sizeof *l->sorted);
  l->finish = calloc((size_t)(3 * panels * MAFAT_PANEL), sizeof *l->finish);
  l->block_slices = calloc((size_t)blocks, sizeof *l->block_slices);
  l->in_rows = calloc((size_t)(blocks * in_rows), sizeof *l->in_rows);
  if (!l->in || !l->out || !l->weights || !l->sorted || !l->finish || !l->block_slices ||
      !l->in_rows) {
    close_layer(l);
    return NULL;
  }
  for (int i = 0; i < 3 * panels * MAFAT_PANEL; i++)
    l->finish[i] = i / MAFAT_PANEL % 3 == 0   ? 1000 * (i % 7)
                   : i / MAFAT_PANEL % 3 == 1 ? 1518500250
                                              : -8;
  for (int b = 0; b < blocks; b++)
    l->block_slices[b] = (struct mafat_integer_block_slice){
        l->in_rows + b * in_rows, block_channels(s->c, b), mafat_block_width(s->c, b)};
  return l;
}

/* ---- timing ---- */

static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* An integer level, and the float level to compare with. times: products that an instruction of the
 * integer level computes for each product of the float level's instruction. */
struct level {
  const struct mafat_integer_kernels *k;
  const struct mafat_kernels *floats;
  int times;
};

static double macs(const struct bench_shape *s)
{
  double outputs = (double)bench_out(s->h, s->stride) * bench_out(s->w, s->stride) * s->filters *
                   s->size * s->size;
  return strcmp(s->kernel, "conv") == 0 ? outputs * s->c : outputs;
}

static double run_once(const struct bench_contender *c, int repeats)
{
  double before = now_ms();
  for (int i = 0; i < repeats; i++) c->run(c->state);
  return (now_ms() - before) / repeats;
}

static int float_data(struct bench_data *d, const struct bench_shape *s)
{
  size_t taps = (size_t)(s->size * s->size) * (size_t)(strcmp(s->kernel, "conv") == 0 ? s->c : 1);
  d->input = calloc((size_t)(s->h * s->w) * (size_t)s->c, sizeof(float));
  d->weights = calloc(taps * (size_t)s->filters, sizeof(float));
  d->bias = calloc((size_t)s->filters, sizeof(float));
  return d->input && d->weights && d->bias ? 0 : -1;
}

/* Prints a row: for each level its ms, GMAC/s, share of its peak, and speed relative to floats. */
static int bench_one(const struct bench_shape *s, const struct level *levels, int n_levels,
                     const double *peaks, int runs)
{
  struct bench_contender list[BENCH_MAX_CONTENDERS] = {0};
  struct bench_data d = {0};
  double least[BENCH_MAX_CONTENDERS];
  int n = 0, floats[MAX_LEVELS], code = float_data(&d, s);
  for (int i = 0; i < n_levels && !code; i++) {
    list[n] = (struct bench_contender){
        .state = open_layer(s, levels[i].k), .run = run_layer, .close = close_layer};
    if (!list[n++].state) code = -1;
  }
  for (int i = 0; i < n_levels && !code; i++) {
    floats[i] = i && levels[i].floats == levels[i - 1].floats ? floats[i - 1] : n;
    if (floats[i] == n) n = bench_ours(s, &d, levels[i].floats, list, n);
    if (n < 0) code = -1;
  }
  for (int i = 0; i < n && !code; i++) least[i] = run_once(&list[i], 1);
  for (int r = 0; r < runs && !code; r++)
    for (int i = 0; i < n; i++)
      least[i] = fmin(least[i], run_once(&list[i], (int)(2 / fmax(least[i], 1e-3)) + 1));
  if (!code) printf("%-16s %9s %7.2f", s->name, s->kernel, macs(s) * 1e-6);
  for (int i = 0; i < n_levels && !code; i++)
    printf(" | %-10s %7.3f %6.1f %4.0f%% %5.2f", levels[i].k->name, least[i],
           macs(s) / least[i] * 1e-6, 100 * macs(s) / least[i] * 1e-6 / peaks[i],
           least[floats[i]] / least[i]);
  if (!code) printf("\n");
  fflush(stdout);
  for (int i = 0; i < BENCH_MAX_CONTENDERS; i++)
    if (list[i].state && list[i].close) list[i].close(list[i].state);
  free(d.input);
  free(d.weights);
  free(d.bias);
  return code;
}

static const struct mafat_kernels *floats_of(const struct bench_options *o,
                                             const struct mafat_integer_kernels *k)
{
  for (int i = 0; i < o->n_levels; i++) {
    const char *name = o->levels[i]->name;
    if (strcmp(k->name, "avxvnni") == 0 ? strcmp(name, "avx2") == 0
                                        : strncmp(k->name, name, strlen(name)) == 0)
      return o->levels[i];
  }
  return o->levels[0];
}

int bench_integers(const struct bench_options *o, const struct mafat_integer_kernels *const *list,
                   int n)
{
  struct level levels[MAX_LEVELS];
  double peaks[MAX_LEVELS];
  const char *kernel = o->kernel + strlen("integer_");
  int n_wanted = 0;
  for (int i = 0; i < n; i++) {
    levels[i] =
        (struct level){list[i], floats_of(o, list[i]),
                       strstr(list[i]->name, "vnni") || strstr(list[i]->name, "dot") ? 4 : 2};
    peaks[i] = bench_peak(levels[i].floats) / 2 * levels[i].times;
  }
  printf("layer, million products | level: ms, GMAC/s, of its peak (");
  for (int i = 0; i < n; i++) printf("%s%s %.0f", i ? ", " : "", list[i]->name, peaks[i]);
  printf("), times the floats' speed; the least of %d runs\n", o->runs);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    if (strcmp(kernel, shapes[i].kernel) != 0 || (o->shape && !strstr(shapes[i].name, o->shape)))
      continue;
    n_wanted++;
    if (bench_one(&shapes[i], levels, n, peaks, o->runs)) return -1;
  }
  return n_wanted ? 0 : -2;
}
