/* Cases of depthwise convolution and pooling, which treat channels separately. Called by
 * kernel_check.c. */
#include "tests/kernel_check/check.h"

#include "predictor/plan/packing.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_IN_ROWS = 64, MAX_TAPS = 121 };

static const float *in_rows[MAX_IN_ROWS];

static void run_depthwise(const struct mafat_kernels *k, const void *call)
{
  k->depthwise(call);
}

/* Makes the weights of the channels. They may start at any lane of a panel of `width` lanes, so a
 * kernel may read only the lanes of its own channels. */
static const float *make_weights(int n_taps, int n_channels, int width, enum value_range v)
{
  return input_pixels(n_taps, n_channels, width, v);
}

static struct mafat_taps choose_taps(int size)
{
  int dilation = size <= 5 && one_in(4) ? random_in(1, 3) : 1;
  return (struct mafat_taps){size, one_in(2) ? random_in(1, 2) : random_in(1, 4), dilation, 0, 0};
}

/* A random window, usually equal in both directions. */
static struct mafat_window choose_window(int largest)
{
  struct mafat_window w;
  w.y = w.x = choose_taps(one_in(2) ? 3 : random_in(1, largest));
  if (one_in(3)) w.y = choose_taps(random_in(1, largest));
  return w;
}

void check_depthwise(struct kernel_check *check)
{
  const enum value_range values = random_values(),
                         of_weights = values == SPARSE ? SPARSE : ORDINARY;
  const int n = one_in(3) ? 16 : random_in(1, 16);
  struct mafat_depthwise_call call = {
      .rows = in_rows, .n_channels = n, .in_pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
      .out_pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)), .n_rows = random_in(1, 5),
      .n_cols = one_in(8) ? random_in(100, 700) : one_in(4) ? 1 : random_in(1, 40),
      .width = mafat_panel_width(n), .activation = random_activation()};
  call.window = choose_window(call.n_cols > 40 ? 3 : 11);
  const int n_rows = mafat_taps_inputs(call.window.y, call.n_rows),
            n_taps = mafat_window_area(&call.window);
  inputs_reset();
  for (int r = 0; r < n_rows; r++)
    in_rows[r] = input_pixels(mafat_taps_inputs(call.window.x, call.n_cols), n,
                              call.in_pixel_floats, values);
  call.weights = make_weights(n_taps, n, call.width, of_weights);
  call.scale = make_weights(1, n, n, of_weights);
  call.bias = make_weights(1, n, n, of_weights);

  struct check_call run = {.kernel = "depthwise", .run = run_depthwise, .call = &call, .n_views = 1,
                           .ordinary = values == ORDINARY, .denormals = has_denormals(values)};
  run.views[0] = (struct check_view){.n_rows = call.n_rows, .n_cols = call.n_cols, .n_lanes = n,
                                     .pixel_floats = call.out_pixel_floats};
  call.out = run.views[0].rows;
  check_place_outputs(&run, false);
  struct check_value *exact = run.exact;
  for (int row = 0; row < call.n_rows; row++)
    for (int col = 0; col < call.n_cols; col++)
      for (int ch = 0; ch < n; ch++) {
        struct mafat_exact y = mafat_exact_depthwise(&call, ch, row, col);
        *exact++ = (struct check_value){y.value, check_tolerance(y, n_taps, call.activation.kind)};
      }
  snprintf(run.text, sizeof run.text, "%s, %d channels, %d x %d, %s, %s values",
           window_text(&call.window, (char[80]){0}, 80), n, call.n_rows, call.n_cols,
           mafat_activation_name(call.activation.kind), values_name(values));
  check_run(check, &run);
}

/* Puts infinities and NaN, which loses every comparison, among the values. */
static void add_oddities(float *x, int n)
{
  static const float odd[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX};
  for (int i = 0; i < n; i++)
    if (one_in(6)) x[i] = odd[random_in(0, 4)];
}

/* The input of a tap of output `col`; NULL outside the map. */
static const float *pool_tap(const struct mafat_pool_call *c, int row, int kx, int col)
{
  int x = c->first_col + col * c->taps.stride + kx * c->taps.dilation;
  return x < c->in_begin || x >= c->in_end ? NULL
                                           : c->rows[row] + (ptrdiff_t)x * c->in_pixel_floats;
}

static struct check_value exact_maximum(const struct mafat_pool_call *c, int col, int ch)
{
  double most = -FLT_MAX;
  for (int r = 0; r < c->n_rows; r++)
    for (int kx = 0; kx < c->taps.size; kx++) {
      const float *x = pool_tap(c, r, kx, col);
      if (x) most = fmax(most, x[ch]);
    }
  return (struct check_value){most, 0};
}

static struct check_value exact_mean(const struct mafat_pool_call *c, int col, int ch)
{
  struct mafat_exact sum = {0, 0};
  int taps = 0;
  for (int kx = 0; kx < c->taps.size; kx++) {
    int at = c->first_col + col * c->taps.stride + kx * c->taps.dilation;
    if (at >= c->in_begin - c->padded_before && at < c->in_end + c->padded_after)
      taps += c->n_rows + c->padded_rows;
  }
  for (int r = 0; r < c->n_rows; r++)
    for (int kx = 0; kx < c->taps.size; kx++) {
      const float *x = pool_tap(c, r, kx, col);
      if (!x) continue;
      sum.value += x[ch];
      sum.magnitude += fabs(x[ch]);
    }
  struct mafat_exact mean = {sum.value / taps, sum.magnitude / taps};
  return (struct check_value){mean.value, check_tolerance(mean, taps, MAFAT_LINEAR)};
}

/* A random call. If taps are not dilated, every window has a tap inside the map. */
static struct mafat_pool_call choose_pool(struct mafat_taps taps)
{
  const int n = one_in(3) ? 16 : random_in(1, 16);
  struct mafat_pool_call call = {.rows = in_rows,
                                 .taps = taps,
                                 .n_cols = one_in(8) ? random_in(100, 700) : random_in(1, 30),
                                 .n_channels = n,
                                 .in_pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
                                 .out_pixel_floats = n + (one_in(2) ? 0 : random_in(1, 20)),
                                 .in_begin = random_in(-3, 3)};
  if (one_in(3))
    call.padded_rows = random_in(0, 2), call.padded_before = random_in(0, 3),
    call.padded_after = random_in(0, 3);
  call.n_rows = random_in(1, call.taps.size);
  call.first_col = call.in_begin - random_in(0, call.taps.size - 1);
  /* column after the last window's last tap */
  int seen = call.first_col + mafat_taps_inputs(call.taps, call.n_cols);
  call.in_end = seen - random_in(0, call.taps.size - 1);
  if (call.in_end <= call.in_begin) call.in_end = call.in_begin + 1;
  return call;
}

static void check_pool(struct kernel_check *check, const char *kernel, struct mafat_pool_call call,
                       bool odd, void (*run_kernel)(const struct mafat_kernels *, const void *),
                       struct check_value (*exact)(const struct mafat_pool_call *, int, int))
{
  const enum value_range values = random_values();
  const int n = call.n_channels;
  inputs_reset();
  for (int r = 0; r < call.n_rows; r++) {
    float *row = input_pixels(call.in_end - call.in_begin, n, call.in_pixel_floats, values);
    for (int x = 0; odd && x < call.in_end - call.in_begin; x++)
      add_oddities(row + x * call.in_pixel_floats, n);
    in_rows[r] = row - (ptrdiff_t)call.in_begin * call.in_pixel_floats;
  }
  struct check_call run = {.kernel = kernel,
                           .run = run_kernel,
                           .call = &call,
                           .n_views = 1,
                           .ordinary = values == ORDINARY && !odd,
                           .denormals = has_denormals(values)};
  run.views[0] = (struct check_view){.n_rows = 1, .n_cols = call.n_cols, .n_lanes = n,
                                     .pixel_floats = call.out_pixel_floats};
  check_place_outputs(&run, false);
  call.out = run.views[0].rows[0];
  for (int col = 0; col < call.n_cols; col++)
    for (int ch = 0; ch < n; ch++) run.exact[col * n + ch] = exact(&call, col, ch);
  snprintf(run.text, sizeof run.text,
           "size %d stride %d dilation %d, %d channels, %d rows, columns %d ... %d from %d, %d "
           "outputs, %s values%s",
           call.taps.size, call.taps.stride, call.taps.dilation, n, call.n_rows, call.in_begin,
           call.in_end, call.first_col, call.n_cols, values_name(values),
           odd ? " with NaN and infinities" : "");
  check_run(check, &run);
}

static void run_maxpool(const struct mafat_kernels *k, const void *call)
{
  k->maxpool(call);
}

void check_maxpool(struct kernel_check *check)
{
  const bool odd = one_in(4);
  check_pool(check, "maxpool", choose_pool(choose_taps(one_in(2) ? 2 : random_in(1, 13))), odd,
             run_maxpool, exact_maximum);
}

static void run_avgpool(const struct mafat_kernels *k, const void *call)
{
  k->avgpool(call);
}

void check_avgpool(struct kernel_check *check)
{
  struct mafat_taps taps = choose_taps(random_in(1, 13));
  taps.dilation = 1;
  check_pool(check, "avgpool", choose_pool(taps), false, run_avgpool, exact_mean);
}
