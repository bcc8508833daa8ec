/* Cases of Winograd: the three transforms, the products, and a convolution made from them.
 * Called by kernel_check.c. */
#include "tests/kernel_check/check.h"

#include "predictor/plan/packing.h"

#include <math.h>
#include <string.h>

enum {
  MAX_WINDOW = 8,
  MAX_POINTS = 64,
  MAX_CHANNELS = 512,
  USUAL_CHANNELS = 48,
  MAX_SIDE = 16,
  MAX_TILES = 4
};

/* A random size. */
static const struct mafat_winograd *random_winograd(void)
{
  return mafat_winograd_find((enum mafat_winograd_size)random_in(0, MAFAT_N_WINOGRADS - 1));
}

/* largest error, relative to the sum of the terms' magnitudes */
static const double transform_bound = 1e-6;

static struct check_call transform_call(const char *kernel,
                                        void (*run)(const struct mafat_kernels *, const void *),
                                        const void *call, enum value_range v)
{
  return (struct check_call){.kernel = kernel, .run = run, .call = call, .n_views = 1,
                             .ordinary = v == ORDINARY, .denormals = has_denormals(v)};
}

static struct check_value transformed(struct mafat_exact y)
{
  return (struct check_value){y.value, transform_bound * y.magnitude + 1e-43};
}

/* Address of the exact value of output (row, col, lane), for a call with one view. */
static struct check_value *exact_at(const struct check_call *c, int row, int col, int lane)
{
  const struct check_view *v = &c->views[0];
  return &c->exact[((size_t)row * (size_t)v->n_cols + (size_t)col) * (size_t)v->n_lanes +
                   (size_t)lane];
}

/* --- weights --- */

struct weights_call {
  const struct mafat_winograd *size;
  const float *weights;
  int n_channels, width;
  float *values;
  size_t point_floats;
};

static void run_weights(const struct mafat_kernels *k, const void *call)
{
  const struct weights_call *c = call;
  k->winograd[c->size->size].weights(c->weights, c->n_channels, c->width, c->values,
                                     c->point_floats);
}

/* Places a view's rows at a fixed distance from each other, as the points of a tile must be.
 * (Otherwise the rows of a view may be anywhere.) */
static void even_rows(struct check_view *v, size_t row_floats)
{
  for (int r = 1; r < v->n_rows; r++) v->rows[r] = v->rows[0] + (size_t)r * row_floats;
}

/* Places the view's rows with `gap` floats between them. Returns the distance of two rows in
 * floats. */
static size_t place_points(struct check_call *c, int gap)
{
  struct check_view *v = &c->views[0];
  size_t row = (size_t)(v->n_cols - 1) * (size_t)v->pixel_floats + (size_t)v->n_lanes,
         pitch = row + (size_t)gap;
  /* Placed as one long row first, so that its end is sometimes the page's end. */
  const struct check_view points = *v;
  *v = (struct check_view){
      .n_rows = 1, .n_cols = 1, .n_lanes = (int)(pitch * (size_t)(points.n_rows - 1) + row)};
  check_place_outputs(c, false);
  float *first = v->rows[0];
  *v = points;
  v->rows[0] = first;
  even_rows(v, pitch);
  return pitch;
}

void check_winograd_weights(struct kernel_check *check)
{
  const enum value_range values = random_values();
  const struct mafat_winograd *g = random_winograd();
  struct weights_call call = {
      .size = g, .n_channels = random_in(1, 24), .width = 8 * random_in(1, 4)};
  size_t n = (size_t)(9 * call.n_channels * call.width);
  float *weights = weight_floats(n);
  fill(weights, n, values);
  call.weights = weights;
  struct check_call run = transform_call("winograd_weights", run_weights, &call, values);
  run.views[0] = (struct check_view){.n_rows = g->points,
                                     .n_cols = call.n_channels,
                                     .n_lanes = call.width,
                                     .pixel_floats = call.width};
  call.point_floats = place_points(&run, one_in(2) ? 0 : random_in(1, 40));
  call.values = run.views[0].rows[0];
  for (int ch = 0; ch < call.n_channels; ch++)
    for (int f = 0; f < call.width; f++) {
      double taps[9];
      struct mafat_exact out[MAX_POINTS];
      for (int tap = 0; tap < 9; tap++)
        taps[tap] = weights[(tap * call.n_channels + ch) * call.width + f];
      mafat_exact_winograd_weights(g->size, taps, out);
      for (int p = 0; p < g->points; p++) *exact_at(&run, p, ch, f) = transformed(out[p]);
    }
  snprintf(run.text, sizeof run.text, "%d x %d, %d channels, width %d, %s values", g->outputs,
           g->outputs, call.n_channels, call.width, values_name(values));
  check_run(check, &run);
}

/* --- input --- */

struct input_call {
  const struct mafat_winograd *size;
  struct mafat_winograd_input_call call;
};

static void run_input(const struct mafat_kernels *k, const void *call)
{
  const struct input_call *c = call;
  k->winograd[c->size->size].input(&c->call);
}

static void exact_input(const struct input_call *input, int tile, int ch, struct check_call *run)
{
  const struct mafat_winograd *g = input->size;
  const struct mafat_winograd_input_call *c = &input->call;
  double d[MAX_POINTS];
  struct mafat_exact out[MAX_POINTS];
  for (int p = 0; p < g->points; p++) {
    int x = tile * g->outputs + p % g->window;
    d[p] = x < c->n_cols ? c->rows[p / g->window][x * c->pixel_floats + ch] : 0;
  }
  mafat_exact_winograd_input(g->size, d, out);
  for (int p = 0; p < g->points; p++) *exact_at(run, p, tile, ch) = transformed(out[p]);
}

void check_winograd_input(struct kernel_check *check)
{
  const enum value_range values = random_values();
  const int n = one_in(2) ? 16 : random_in(1, 16),
            n_tiles = one_in(8) ? random_in(20, 175) : random_in(1, 12);
  const struct mafat_winograd *g = random_winograd();
  const float *rows[MAX_WINDOW];
  struct input_call input = {.size = g};
  struct mafat_winograd_input_call call = {
      .rows = rows,
      .n_channels = n,
      .pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
      .n_tiles = n_tiles,
      .tile_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
      .n_cols = one_in(2) ? n_tiles * g->outputs + 2
                          : random_in(g->outputs * (n_tiles - 1) + 1, g->outputs * n_tiles + 2)};
  inputs_reset();
  for (int y = 0; y < g->window; y++)
    rows[y] =
        y > 0 && one_in(8) ? rows[y - 1] : input_pixels(call.n_cols, n, call.pixel_floats, values);
  struct check_call run = transform_call("winograd_input", run_input, &input, values);
  run.views[0] = (struct check_view){
      .n_rows = g->points, .n_cols = n_tiles, .n_lanes = n, .pixel_floats = call.tile_floats};
  call.point_floats = place_points(&run, one_in(2) ? 0 : random_in(1, 40));
  call.values = run.views[0].rows[0];
  input.call = call;
  for (int tile = 0; tile < n_tiles; tile++)
    for (int ch = 0; ch < n; ch++) exact_input(&input, tile, ch, &run);
  snprintf(run.text, sizeof run.text, "%d x %d, %d channels, %d tiles, %d columns, %s values",
           g->outputs, g->outputs, n, n_tiles, call.n_cols, values_name(values));
  check_run(check, &run);
}

/* --- output --- */

struct output_call {
  const struct mafat_winograd *size;
  struct mafat_winograd_output_call call;
};

static void run_output(const struct mafat_kernels *k, const void *call)
{
  const struct output_call *c = call;
  k->winograd[c->size->size].output(&c->call);
}

/* Stores an exact output, or with pooling the maximum. Exact values are -infinity at first. */
static void store_exact(struct check_call *run, bool pool, int row, int col, int lane,
                       struct check_value y)
{
  struct check_value *most = exact_at(run, pool ? row / 2 : row, pool ? col / 2 : col, lane);
  most->value = fmax(most->value, y.value);
  most->tolerance = fmax(most->tolerance, y.tolerance);
}

static void begin_exact(struct check_call *run)
{
  for (size_t i = 0; i < check_n_outputs(run); i++)
    run->exact[i] = (struct check_value){-INFINITY, 0};
}

static void exact_output(const struct output_call *output, int tile, int f, struct check_call *run)
{
  const struct mafat_winograd_output_call *c = &output->call;
  const int side = output->size->outputs;
  double m[MAX_POINTS];
  struct mafat_exact out[MAX_POINTS];
  for (int p = 0; p < output->size->points; p++)
    m[p] = c->values[(size_t)p * c->point_floats + (size_t)(tile * c->tile_floats + f)];
  mafat_exact_winograd_output(output->size->size, m, out);
  for (int row = 0; row < c->n_rows; row++)
    for (int col = tile * side; col < (tile + 1) * side && col < c->n_cols; col++) {
      struct mafat_exact y =
          mafat_exact_finish(out[row * side + col % side], c->scale[f], c->bias[f], &c->activation);
      double tolerance = 1.76 * transform_bound * y.magnitude + 4e-7 * fmax(1, fabs(y.value));
      store_exact(run, c->pool, row, col, f, (struct check_value){y.value, tolerance});
    }
}

/* Makes `width` floats, n random ones and then zeros, like a panel's scales or biases. */
static const float *panel_lanes(int n, int width, enum value_range v)
{
  float *x = input_floats((size_t)width);
  memset(x, 0, (size_t)width * sizeof *x);
  fill(x, (size_t)n, v);
  return x;
}

void check_winograd_output(struct kernel_check *check)
{
  const enum value_range values = random_values();
  const int n = one_in(2) ? 16 : random_in(1, 16),
            n_tiles = one_in(8) ? random_in(20, 175) : random_in(1, 12);
  const struct mafat_winograd *g = random_winograd();
  const int side = g->outputs;
  struct output_call output = {.size = g};
  struct mafat_winograd_output_call call = {
      .n_filters = n,
      .n_tiles = n_tiles,
      .tile_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
      .n_rows = random_in(1, side),
      .pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
      .pool = one_in(3),
      .n_cols = one_in(2) ? n_tiles * side : random_in(side * (n_tiles - 1) + 1, side * n_tiles),
      .activation = random_activation()};
  inputs_reset();
  size_t point = (size_t)(n_tiles - 1) * (size_t)call.tile_floats + (size_t)n;
  call.point_floats = point + (one_in(2) ? 0 : (size_t)random_in(1, 40));
  float *sums = weight_floats((size_t)(g->points - 1) * call.point_floats + point);
  for (int p = 0; p < g->points; p++)
    for (int t = 0; t < n_tiles; t++)
      fill(sums + (size_t)p * call.point_floats + (size_t)(t * call.tile_floats), (size_t)n,
           values);
  call.values = sums;
  call.scale = panel_lanes(n, mafat_panel_width(n), ORDINARY);
  call.bias = panel_lanes(n, mafat_panel_width(n), ORDINARY);
  struct check_call run = transform_call("winograd_output", run_output, &output, values);
  run.views[0] = (struct check_view){.n_rows = call.pool ? (call.n_rows + 1) / 2 : call.n_rows,
                                     .n_cols = call.pool ? (call.n_cols + 1) / 2 : call.n_cols,
                                     .n_lanes = n,
                                     .pixel_floats = call.pixel_floats};
  call.rows = run.views[0].rows;
  check_place_outputs(&run, false);
  begin_exact(&run);
  output.call = call;
  for (int tile = 0; tile < n_tiles; tile++)
    for (int f = 0; f < n; f++) exact_output(&output, tile, f, &run);
  snprintf(run.text, sizeof run.text, "%d x %d, %d filters, %d tiles, %d x %d%s, %s, %s values",
           side, side, n, n_tiles, call.n_rows, call.n_cols, call.pool ? " pooled" : "",
           mafat_activation_name(call.activation.kind), values_name(values));
  check_run(check, &run);
}

/* --- products --- */

static void run_product(const struct mafat_kernels *k, const void *call)
{
  k->product(call);
}

static void exact_product(const struct mafat_product_call *c, int p, int tile, int f,
                          struct check_call *run)
{
  const float *x = c->values + (size_t)p * c->values_point + (size_t)(tile * c->tile_floats);
  const float *w = c->weights + (size_t)p * c->weights_point + f;
  const double before =
      c->start ? 0 : (double)c->sums[(size_t)p * c->sums_point + (size_t)(tile * c->width + f)];
  struct mafat_exact sum = {before, fabs(before)};
  for (int ch = 0; ch < c->n_channels; ch++) {
    double term = (double)x[ch] * (double)w[ch * c->width];
    sum.value += term;
    sum.magnitude += fabs(term);
  }
  *exact_at(run, p, tile, f) =
      (struct check_value){sum.value, check_tolerance(sum, c->n_channels + 1, MAFAT_LINEAR)};
}

void check_product(struct kernel_check *check)
{
  const enum value_range values = random_values();
  const int n = one_in(2) ? 128 : random_in(1, 140), n_tiles = random_in(1, 30),
            points = random_in(1, 4);
  const int how = random_in(0, 2);
  struct mafat_product_call call = {.n_points = points,
                                    .n_tiles = n_tiles,
                                    .n_channels = n,
                                    .tile_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
                                    .width = 8 * random_in(1, 4),
                                    .start = how == 1,
                                    .apart = how == 2};
  inputs_reset();
  const size_t row = (size_t)(n_tiles - 1) * (size_t)call.tile_floats + (size_t)n;
  call.values_point = row + (one_in(2) ? 0 : (size_t)random_in(1, 40));
  float *x = input_floats((size_t)(points - 1) * call.values_point + row);
  for (int p = 0; p < points; p++)
    for (int t = 0; t < n_tiles; t++)
      fill(x + (size_t)p * call.values_point + (size_t)(t * call.tile_floats), (size_t)n, values);
  call.values = x;
  call.weights_point = (size_t)(n * call.width);
  float *w = weight_floats((size_t)points * call.weights_point);
  fill(w, (size_t)points * call.weights_point, ORDINARY);
  call.weights = w;
  call.ahead = w;
  call.n_ahead = one_in(2) ? 0 : random_in(1, 9 * n * call.width);
  struct check_call run = transform_call("product", run_product, &call, values);
  run.views[0] = (struct check_view){
      .n_rows = points, .n_cols = n_tiles, .n_lanes = call.width, .pixel_floats = call.width};
  call.sums_point = place_points(&run, one_in(2) ? 0 : random_in(1, 40));
  call.sums = run.views[0].rows[0];
  if (!call.start)
    for (int p = 0; p < points; p++)
      fill(run.views[0].rows[p], (size_t)(n_tiles * call.width), ORDINARY);
  for (int p = 0; p < points; p++)
    for (int t = 0; t < n_tiles; t++)
      for (int f = 0; f < call.width; f++) exact_product(&call, p, t, f, &run);
  snprintf(run.text, sizeof run.text,
           "%d points, %d tiles, %d channels, width %d, start %d, apart %d, %s values", points,
           n_tiles, n, call.width, call.start, call.apart, values_name(values));
  check_run(check, &run);
}

/* --- the whole convolution --- */

/* A map of h x w with one pixel of padding, and one panel of up to 32 filters. */
struct winograd_case {
  const struct mafat_winograd *size;
  int h, w, n_channels, n_block_slices, n_filters, width;
  bool pool;
  struct mafat_activating activation;
  const float *rows[MAX_CHANNELS / 16][MAX_SIDE + MAX_WINDOW]; /* [block slice][padded row] */
  int block_slice_channels[MAX_CHANNELS / 16];
  const float *weights, *scale, *bias; /* in the layout of `conv` */
  struct check_view *views;
};

/* Transformed values, passed from one call to the next. */
static float input_values[MAX_POINTS * MAX_TILES * MAX_CHANNELS], sums[MAX_POINTS * MAX_TILES * 32];
static float weight_values[MAX_POINTS * MAX_CHANNELS * 32];
static struct winograd_case winograd_case;

/* Transforms the inputs of a row of tiles, one block slice after another. */
static void transform_inputs(const struct mafat_kernels *k, const struct winograd_case *c,
                             int tile_row, int n_tiles)
{
  for (int p = 0; p < c->n_block_slices; p++) {
    const struct mafat_winograd_input_call input = {
        .rows = c->rows[p] + tile_row * c->size->outputs,
        .n_cols = c->w + 2,
        .n_channels = c->block_slice_channels[p],
        .pixel_floats = c->block_slice_channels[p],
        .n_tiles = n_tiles,
        .values = input_values + p * 16,
        .point_floats = (size_t)(n_tiles * MAX_CHANNELS),
        .tile_floats = MAX_CHANNELS};
    k->winograd[c->size->size].input(&input);
  }
}

/* Computes a matrix product for each point and each block of channels. */
static void multiply(const struct mafat_kernels *k, const struct winograd_case *c, int n_tiles)
{
  const int block = c->size->block ? c->size->block : c->n_channels;
  for (int ch = 0; ch < c->n_channels; ch += block) {
    const struct mafat_product_call call = {.values = input_values + ch,
                                            .values_point = (size_t)(n_tiles * MAX_CHANNELS),
                                            .tile_floats = MAX_CHANNELS,
                                            .weights = weight_values + ch * c->width,
                                            .weights_point = (size_t)(c->n_channels * c->width),
                                            .sums = sums,
                                            .sums_point = (size_t)(n_tiles * c->width),
                                            .n_points = c->size->points,
                                            .n_tiles = n_tiles,
                                            .n_channels = mafat_min(block, c->n_channels - ch),
                                            .width = c->width,
                                            .start = ch == 0,
                                            .apart = ch > 0};
    k->product(&call);
  }
}

static void run_whole(const struct mafat_kernels *k, const void *call)
{
  const struct winograd_case *c = call;
  const int side = c->size->outputs, n_tiles = mafat_winograd_tiles(c->size, c->w);
  /* Block slices follow each other at every point, as `conv` expects. */
  const float *weights = c->weights;
  for (int p = 0; p < c->n_block_slices; p++) {
    k->winograd[c->size->size].weights(weights, c->block_slice_channels[p], c->width,
                                       weight_values + p * 16 * c->width,
                                       (size_t)(c->n_channels * c->width));
    weights += 9 * c->block_slice_channels[p] * c->width;
  }
  for (int row = 0; row < c->h; row += side) {
    transform_inputs(k, c, row / side, n_tiles);
    multiply(k, c, n_tiles);
    for (int f = 0; f < c->n_filters; f += 16) {
      const struct check_view *v = &c->views[f / 16];
      const struct mafat_winograd_output_call output = {.values = sums + f,
                                                        .point_floats =
                                                            (size_t)(n_tiles * c->width),
                                                        .tile_floats = c->width,
                                                        .n_tiles = n_tiles,
                                                        .rows = v->rows + (c->pool ? row / 2 : row),
                                                        .n_rows = mafat_min(side, c->h - row),
                                                        .n_cols = c->w,
                                                        .n_filters = v->n_lanes,
                                                        .pixel_floats = v->pixel_floats,
                                                        .scale = c->scale + f,
                                                        .bias = c->bias + f,
                                                        .activation = c->activation,
                                                        .pool = c->pool};
      k->winograd[c->size->size].output(&output);
    }
  }
}

static void make_map(struct winograd_case *c)
{
  const int padded = mafat_winograd_tiles(c->size, c->h) * c->size->outputs + 2;
  for (int p = 0; p < c->n_block_slices; p++) {
    int n = c->block_slice_channels[p] = mafat_min(16, c->n_channels - 16 * p);
    float *zeros = input_floats((size_t)((c->w + 2) * n));
    memset(zeros, 0, (size_t)((c->w + 2) * n) * sizeof *zeros);
    for (int y = 0; y < padded; y++) {
      c->rows[p][y] = zeros;
      if (y == 0 || y > c->h) continue;
      float *row = input_pixels(c->w + 2, n, n, ORDINARY);
      memset(row, 0, (size_t)n * sizeof *row);
      memset(row + (c->w + 1) * n, 0, (size_t)n * sizeof *row);
      c->rows[p][y] = row;
    }
  }
}

/* Tolerances relative to the largest output. */
static const double whole_bounds[MAFAT_N_WINOGRADS] = {
    [MAFAT_WINOGRAD_4X4] = 1e-5, [MAFAT_WINOGRAD_6X6] = 2e-5};

/* The direct convolution in double precision. If there are few outputs, all may be small by
 * cancellation; then the tolerance is relative to their terms. */
static void exact_whole(const struct winograd_case *c, struct check_call *run)
{
  struct mafat_conv_block_slice block_slices[MAX_CHANNELS / 16];
  for (int p = 0; p < c->n_block_slices; p++)
    block_slices[p] = (struct mafat_conv_block_slice){c->rows[p], c->block_slice_channels[p],
                                                      c->block_slice_channels[p]};
  const struct mafat_conv_call direct = {.block_slices = block_slices,
                                         .n_block_slices = c->n_block_slices,
                                         .n_rows = c->h,
                                         .n_cols = c->w,
                                         .window = mafat_window_square(3, 1, 0),
                                         .weights = c->weights,
                                         .scale = c->scale,
                                         .bias = c->bias,
                                         .width = c->width,
                                         .activation = c->activation,
                                         .start = true,
                                         .finish = true};
  const bool few = check_n_outputs(run) < 512;
  size_t n = 0;
  double largest = 0;
  for (int s = 0; s < run->n_views; s++) {
    const struct check_view *v = &run->views[s];
    const int step = c->pool ? 2 : 1;
    for (int i = 0; i < v->n_rows * v->n_cols * v->n_lanes; i++, n++) {
      int lane = i % v->n_lanes, col = i / v->n_lanes % v->n_cols, row = i / v->n_lanes / v->n_cols;
      double most = -INFINITY;
      for (int y = row * step; y < (row + 1) * step && y < c->h; y++)
        for (int x = col * step; x < (col + 1) * step && x < c->w; x++) {
          struct mafat_exact sum = mafat_exact_conv(&direct, s * 16 + lane, y, x, 0);
          most = fmax(most, sum.value);
          largest = fmax(largest, few ? sum.magnitude : fabs(sum.value));
        }
      run->exact[n].value = most;
    }
  }
  for (size_t i = 0; i < n; i++) run->exact[i].tolerance = whole_bounds[c->size->size] * largest;
}

void check_winograd(struct kernel_check *check)
{
  struct winograd_case *c = &winograd_case;
  *c = (struct winograd_case){.size = random_winograd(),
                              .h = random_in(1, MAX_SIDE),
                              .w = random_in(1, MAX_SIDE),
                              .n_channels =
                                  one_in(2) ? USUAL_CHANNELS : random_in(1, USUAL_CHANNELS),
                              .n_filters = random_in(1, 8),
                              .pool = one_in(3),
                              .activation.kind = one_in(2) ? MAFAT_LEAKY : MAFAT_LINEAR};
  if (one_in(3)) { /* more filters, smaller map */
    c->n_filters = random_in(9, 32);
    c->h = mafat_min(c->h, 6);
    c->w = mafat_min(c->w, 9);
  }
  if (one_in(8)) { /* many channels, one row of tiles */
    c->n_channels = random_in(USUAL_CHANNELS, MAX_CHANNELS);
    c->n_filters = random_in(1, 8);
    c->h = mafat_min(c->h, c->size->outputs);
  }
  c->n_block_slices = mafat_n_blocks(c->n_channels);
  c->width = mafat_panel_width(c->n_filters);
  inputs_reset();
  make_map(c);
  size_t n_taps = (size_t)(9 * c->n_channels);
  float *weights = weight_floats(n_taps * (size_t)c->width);
  memset(weights, 0, n_taps * (size_t)c->width * sizeof *weights);
  for (size_t i = 0; i < n_taps; i++)
    fill(weights + i * (size_t)c->width, (size_t)c->n_filters, ORDINARY);
  c->weights = weights;
  c->scale = panel_lanes(c->n_filters, c->width, ORDINARY);
  c->bias = panel_lanes(c->n_filters, c->width, ORDINARY);

  struct check_call run = {.kernel = "winograd", .run = run_whole, .call = c, .ordinary = true};
  c->views = run.views;
  for (int f = 0; f < c->n_filters; f += 16)
    run.views[run.n_views++] = (struct check_view){
        .n_rows = c->pool ? (c->h + 1) / 2 : c->h, .n_cols = c->pool ? (c->w + 1) / 2 : c->w,
        .n_lanes = mafat_min(16, c->n_filters - f), .pixel_floats = 16 + random_in(0, 4)};
  check_place_outputs(&run, false);
  exact_whole(c, &run);
  snprintf(run.text, sizeof run.text, "%d x %d, map %d x %d, %d channels, %d filters%s, %s",
           c->size->outputs, c->size->outputs, c->h, c->w, c->n_channels, c->n_filters,
           c->pool ? ", pooled" : "", mafat_activation_name(c->activation.kind));
  check_run(check, &run);
}
