/* Random cases of the convolution kernels, with common and unusual shapes, and their exact results.
 * Called by kernel_check.c through its table of checks. Writes a static case, and the buffers of
 * check.h. */
#include "tests/kernel_check/check.h"

#include "predictor/plan/packing.h"

#include <math.h>
#include <string.h>

enum {
  MAX_SLICES = 6,
  MAX_IN_ROWS = 64,
  MACS = 200000 /* approximate limit for a case */
};

/* The property that is chosen for a case; its other properties are random. */
enum shape {
  USUAL,
  NARROW,   /* one column */
  WIDE,     /* up to 700 columns */
  POOLED,   /* stores the maximum of each 2 x 2 outputs */
  POINTS,   /* a 1 x 1 window, up to 36 rows */
  CONNECTED, /* one block slice of many channels, one output pixel */
  SHORT      /* one block slice of up to 8 channels; 4 filters, or a multiple of 8 */
};

struct conv_case {
  struct mafat_conv_call call;
  struct mafat_conv_block_slice block_slices[MAX_SLICES];
  const float *in_rows[MAX_SLICES][MAX_IN_ROWS];
  enum shape shape;
  enum value_range values;
  int n_filters, n_channels;
};

static struct conv_case conv_case;

static void run_conv(const struct mafat_kernels *k, const void *call)
{
  k->conv(call);
}

static int choose_size(void)
{
  static const int favoured[] = {1, 3, 5, 7, 2, 4};
  return one_in(4) ? random_in(1, 11) : favoured[one_in(3) ? random_in(2, 5) : random_in(0, 1)];
}

/* Returns a random window, usually equal in both directions. A direction with more than 5 taps is
 * not dilated. */
static struct mafat_window choose_window(void)
{
  struct mafat_window w = mafat_window_square(choose_size(), one_in(2) ? 1 : random_in(1, 4), 0);
  if (one_in(3)) w.x = (struct mafat_taps){choose_size(), random_in(1, 4), 1, 0, 0};
  if (w.y.size <= 5 && one_in(4)) w.y.dilation = random_in(1, 3);
  if (w.x.size <= 5 && one_in(4)) w.x.dilation = random_in(1, 3);
  return w;
}

static void choose_shape(struct conv_case *c)
{
  struct mafat_conv_call *call = &c->call;
  static const enum shape shapes[] = {USUAL,  USUAL,  USUAL,  USUAL,     NARROW, WIDE,
                                      POOLED, POOLED, POINTS, CONNECTED, SHORT,  SHORT};
  c->shape = shapes[random_in(0, 11)];
  c->n_filters = one_in(3) ? 32 : one_in(3) ? 16 : random_in(1, 32);
  call->window = choose_window();
  call->n_block_slices = random_in(1, MAX_SLICES);
  call->n_rows = random_in(1, 6);
  call->n_cols = one_in(3) ? random_in(1, 60) : random_in(1, 15);
  call->activation = random_activation();
  call->start = !one_in(4);
  call->finish = !one_in(4);
  if (c->shape == NARROW) call->n_cols = 1;
  if (c->shape == WIDE) call->n_cols = random_in(100, 700);
  if (c->shape == POOLED) call->pool = call->start = call->finish = true;
  if (c->shape == POINTS || c->shape == CONNECTED) call->window = mafat_window_square(1, 1, 0);
  if (c->shape == POINTS) call->n_rows = one_in(2) ? 36 : random_in(1, 36);
  if (c->shape == CONNECTED) call->n_block_slices = call->n_rows = call->n_cols = 1;
  if (c->shape == SHORT) {
    c->n_filters = one_in(3) ? 4 : 8 * random_in(1, 4);
    call->n_block_slices = 1;
    call->window = mafat_window_square(one_in(2) ? 1 : 3, random_in(1, 2), 0);
  }
}

static long macs(const struct conv_case *c)
{
  const struct mafat_conv_call *call = &c->call;
  long channels = 0;
  for (int p = 0; p < call->n_block_slices; p++) channels += c->block_slices[p].n_channels;
  return channels * mafat_window_area(&call->window) * c->n_filters * call->n_rows * call->n_cols;
}

static void choose_channels(struct conv_case *c)
{
  struct mafat_conv_call *call = &c->call;
  for (int p = 0; p < call->n_block_slices; p++)
    c->block_slices[p].n_channels = one_in(2) ? 16 : random_in(1, 16);
  if (c->shape == CONNECTED)
    c->block_slices[0].n_channels = one_in(2) ? random_in(17, 3000) : random_in(1, 16);
  if (c->shape == SHORT) c->block_slices[0].n_channels = one_in(3) ? 3 : 4 * random_in(1, 2);
  while (macs(c) > MACS) {
    if (call->n_block_slices > 1) call->n_block_slices--;
    else if (call->n_rows > 2) call->n_rows -= 2; /* an odd number stays odd */
    else if (c->block_slices[0].n_channels > 1) c->block_slices[0].n_channels /= 2;
    else if (c->n_filters > 1) c->n_filters /= 2;
    else break;
  }
  for (int p = 0; p < call->n_block_slices; p++) {
    c->block_slices[p].pixel_floats =
        c->block_slices[p].n_channels + (one_in(2) ? 0 : random_in(1, 20));
    c->n_channels += c->block_slices[p].n_channels;
  }
}

/* Makes input rows, each between guard pages. Sometimes several rows share one array, as rows of
 * padding share a row of zeros. */
static void make_inputs(struct conv_case *c)
{
  const struct mafat_conv_call *call = &c->call;
  int n_rows = mafat_taps_inputs(call->window.y, call->n_rows);
  int n_pixels = mafat_taps_inputs(call->window.x, call->n_cols);
  for (int p = 0; p < call->n_block_slices; p++) {
    struct mafat_conv_block_slice *block_slice = &c->block_slices[p];
    for (int r = 0; r < n_rows; r++)
      c->in_rows[p][r] = r > 0 && one_in(8) ? c->in_rows[p][r - 1]
                                            : input_pixels(n_pixels, block_slice->n_channels,
                                                           block_slice->pixel_floats, c->values);
    block_slice->rows = c->in_rows[p];
  }
}

/* A panel has `width` floats for each tap: those of the filters, then zeros. */
static float *make_panel(float *panel, size_t n_taps, int n_filters, int width, enum value_range v)
{
  memset(panel, 0, n_taps * (size_t)width * sizeof *panel);
  for (size_t i = 0; i < n_taps; i++) fill(panel + i * (size_t)width, (size_t)n_filters, v);
  return panel;
}

static void make_weights(struct conv_case *c)
{
  struct mafat_conv_call *call = &c->call;
  /* Huge or denormal weights and inputs together would overflow or vanish. */
  enum value_range v = c->values == ZEROS || c->values == SPARSE ? c->values : ORDINARY;
  size_t n_taps = (size_t)(c->n_channels * mafat_window_area(&call->window));
  int width = mafat_panel_width(c->n_filters);
  call->weights = make_panel(weight_floats(n_taps * (size_t)width), n_taps, c->n_filters, width, v);
  call->width = width;
  call->scale = make_panel(input_floats((size_t)width), 1, c->n_filters, width, v);
  call->bias = make_panel(input_floats((size_t)width), 1, c->n_filters, width, v);
}

static void make_outputs(struct conv_case *c, struct check_call *check)
{
  struct mafat_conv_call *call = &c->call;
  for (int f = 0; f < c->n_filters; f += MAFAT_CHANNEL_BLOCK) {
    struct check_view *v = &check->views[check->n_views++];
    v->n_rows = call->pool ? (call->n_rows + 1) / 2 : call->n_rows;
    v->n_cols = call->pool ? (call->n_cols + 1) / 2 : call->n_cols;
    v->n_lanes = mafat_min(MAFAT_CHANNEL_BLOCK, c->n_filters - f);
    v->pixel_floats = v->n_lanes + (one_in(2) ? 0 : random_in(1, 20));
    call->segments[call->n_segments++] =
        (struct mafat_conv_segment){v->rows, v->n_lanes, v->pixel_floats};
  }
  check_place_outputs(check, !call->start);
}

/* Returns the exact output, and the tolerance. With pooling it is the largest of the up to 4
 * outputs that are pooled. */
static struct check_value exact_output(const struct conv_case *c, int filter, int row, int col)
{
  const struct mafat_conv_call *call = &c->call;
  const int step = call->pool ? 2 : 1, n_terms = c->n_channels * mafat_window_area(&call->window);
  struct check_value most = {-INFINITY, 0};
  for (int y = row * step; y < (row + 1) * step && y < call->n_rows; y++)
    for (int x = col * step; x < (col + 1) * step && x < call->n_cols; x++) {
      const struct mafat_conv_segment *s = &call->segments[filter / MAFAT_CHANNEL_BLOCK];
      double before =
          call->start ? 0 : s->rows[y][x * s->pixel_floats + filter % MAFAT_CHANNEL_BLOCK];
      struct mafat_exact sum = mafat_exact_conv(call, filter, y, x, before);
      most.value = fmax(most.value, sum.value);
      most.tolerance = fmax(most.tolerance, check_tolerance(sum, n_terms, call->activation.kind));
    }
  return most;
}

static void compute_exact(const struct conv_case *c, struct check_call *check)
{
  size_t n = 0;
  for (int s = 0; s < check->n_views; s++) {
    const struct check_view *v = &check->views[s];
    for (int row = 0; row < v->n_rows; row++)
      for (int col = 0; col < v->n_cols; col++)
        for (int lane = 0; lane < v->n_lanes; lane++)
          check->exact[n++] = exact_output(c, s * MAFAT_CHANNEL_BLOCK + lane, row, col);
  }
}

void check_conv(struct kernel_check *check)
{
  struct conv_case *c = &conv_case;
  const struct mafat_conv_call *call = &c->call;
  memset(c, 0, sizeof *c);
  inputs_reset();
  c->values = random_values();
  choose_shape(c);
  choose_channels(c);
  c->call.block_slices = c->block_slices;
  make_inputs(c);
  make_weights(c);
  struct check_call run = {.kernel = "conv",
                           .run = run_conv,
                           .call = call,
                           .ordinary = c->values == ORDINARY,
                           .denormals = has_denormals(c->values)};
  make_outputs(c, &run);
  compute_exact(c, &run);
  snprintf(run.text, sizeof run.text,
           "%s, %d channels in %d slices, %d filters, %d x %d%s%s%s, %s, %s values",
           window_text(&call->window, (char[80]){0}, 80), c->n_channels, call->n_block_slices,
           c->n_filters, call->n_rows, call->n_cols, call->pool ? " pooled" : "",
           call->start ? "" : ", continued", call->finish ? "" : ", raw",
           mafat_activation_name(call->activation.kind), values_name(c->values));
  check_run(check, &run);
}
