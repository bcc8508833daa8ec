/* Covers network/kinds/conv.c, runner/engine/kinds/{conv, conv_direct, pool}.c: compares random
 * convolutions (also grouped and depthwise) and pools with a computation in double precision,
 * element by element. Rows and columns have their own sizes, strides, dilations and paddings; the
 * layers read the picture or bands of its rows. */
#include "runner/kernels/kernels.h"
#include "runner/weights/weights.h"
#include "tests/kernels/kernel_exact.h"
#include "tests/support/support.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *windows_suite(void);

/* One layer, its input and its weights. */
struct problem {
  struct mafat_network *network;
  const struct mafat_layer *layer;
  bool pools, mean;       /* pools: a pool, else a convolution; mean: an average pool */
  float *input;   /* [c][h][w] */
  float *biases;  /* [filters] */
  float *weights; /* [filters][c / groups][y taps][x taps] */
};

static struct mafat_taps random_taps(struct test_rng *rng, bool pools, int extent)
{
  struct mafat_taps t = {.size = test_random_int(rng, 1, 5), .stride = test_random_int(rng, 1, 3),
                         .dilation = test_random_chance(rng, 60) ? 1 : test_random_int(rng, 2, 3)};
  int most = pools ? (t.size - 1) * t.dilation : t.size + 2; /* at least one tap is in the map */
  t.before = test_random_int(rng, 0, mafat_min(most, 6));
  t.after = test_random_int(rng, 0, mafat_min(most, 6));
  while (mafat_taps_outputs(t, extent) < 1) t.after++;
  return t;
}

static float *random_floats(struct test_rng *rng, size_t n, float range)
{
  float *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = range * ((float)(test_random(rng) >> 8) / 8388608.0f - 1);
  return x;
}

/* Makes the layer read some rows of the picture, or several such bands joined. */
static void weave_input(struct test_rng *rng, struct mafat_network *n)
{
  struct mafat_operand *o = n->layers[0].operands;
  if (test_random_chance(rng, 40)) return;
  o->sources.list->first_row = test_random_int(rng, 0, o->shape.h - 1);
  o->shape.h = o->sources.list->n_rows =
      test_random_int(rng, 1, o->shape.h - o->sources.list->first_row);
  test_weave(rng, n, 0, 0);
}

static struct mafat_activating random_activation(struct test_rng *rng)
{
  float p[2];
  for (int i = 0; i < 2; i++) p[i] = (float)(test_random(rng) >> 8) / 8388608.0f - 1;
  if (test_random_chance(rng, 30)) return mafat_activating(MAFAT_LEAKY);
  return mafat_exact_activating(
      (enum mafat_activation)test_random_int(rng, 0, MAFAT_EXACT_GENTLE - 1), p[0], p[1]);
}

/* Makes a layer from a cfg, then changes its window; false if a window of a pool would lie outside
 * of the map. */
static bool make_problem(struct problem *p, struct test_rng *rng)
{
  static const int multiples[] = {1, 1, 2, 3};
  char cfg[256];
  int c = test_random_int(rng, 1, 40), groups = 1, filters = test_random_int(rng, 1, 40);
  if (test_random_chance(rng, 40)) groups = c, filters = c * multiples[test_random_int(rng, 0, 3)];
  p->pools = test_random_chance(rng, 45);
  p->mean = p->pools && test_random_chance(rng, 50);
  int n = snprintf(cfg, sizeof cfg, "[net]\nheight=%d\nwidth=%d\nchannels=%d\n",
                   test_random_int(rng, 1, 17), test_random_int(rng, 1, 21), c);
  snprintf(cfg + n, sizeof cfg - (size_t)n,
           p->mean    ? "[local_avgpool]\nsize=1\n"
           : p->pools ? "[maxpool]\nsize=1\n"
                      : "[convolutional]\nfilters=%d\ngroups=%d\n",
           filters, groups);
  p->network = test_network(cfg);
  struct mafat_layer *l = &p->network->layers[0];
  struct mafat_diagnostic d = {""};
  p->layer = l;
  l->activation = random_activation(rng);
  weave_input(rng, p->network);
  l->in = l->operands[0].shape;
  l->window = (struct mafat_window){random_taps(rng, p->pools, l->in.h),
                                    random_taps(rng, p->pools, l->in.w)};
  if (test_random_chance(rng, 40)) {
    l->count_padding = true;
    l->counted_y = test_random_int(rng, 0, l->window.y.after);
    l->counted_x = test_random_int(rng, 0, l->window.x.after);
  }
  int code = mafat_layer_infer(l, &(struct mafat_infer_context){"test.cfg", 1, 0, "layer", &d});
  ck_assert_msg(code == MAFAT_OK || p->pools, "%s", d.text);
  test_constants(p->network);
  size_t taps =
      (size_t)mafat_window_area(&l->window) * (size_t)(l->in.c / (p->pools ? 1 : l->groups));
  p->input =
      random_floats(rng, (size_t)mafat_shape_elements(mafat_network_picture_shape(p->network)), 1);
  p->biases = random_floats(rng, (size_t)l->out.c, .2f);
  p->weights = random_floats(rng, (size_t)l->out.c * taps, 1.7f / sqrtf((float)taps));
  return code == MAFAT_OK;
}

static void release_problem(struct problem *p)
{
  free(p->input);
  free(p->biases);
  free(p->weights);
  mafat_network_close(&p->network);
}

/* Returns the input that tap (ky, kx) of output (y, x) reads in channel c; NULL: padding. */
static const float *tap_of(const struct problem *p, int c, int y, int x, int ky, int kx)
{
  const struct mafat_layer *l = p->layer;
  int iy = y * l->window.y.stride - l->window.y.before + ky * l->window.y.dilation;
  int ix = x * l->window.x.stride - l->window.x.before + kx * l->window.x.dilation;
  if (iy < 0 || iy >= l->in.h || ix < 0 || ix >= l->in.w) return NULL;
  test_source_at(l->operands, &c, &iy);
  return &p->input[(c * mafat_network_picture_shape(p->network).h + iy) * l->in.w + ix];
}

/* True if an average pool counts the tap: it is in the map, or in padding that is counted. */
static bool is_counted(const struct mafat_layer *l, int y, int x, int ky, int kx)
{
  return mafat_taps_first(l->window.y, y) + ky * l->window.y.dilation < l->in.h + l->counted_y &&
         mafat_taps_first(l->window.x, x) + kx * l->window.x.dilation < l->in.w + l->counted_x;
}

static double exact_output(const void *problem, int f, int y, int x)
{
  const struct problem *p = problem;
  const struct mafat_layer *l = p->layer;
  int channels = p->pools ? 1 : l->in.c / l->groups,
      first = p->pools ? f : f / (l->filters / l->groups) * channels;
  const float *w = p->weights + (size_t)f * (size_t)(channels * mafat_window_area(&l->window));
  double sum = p->mean ? 0 : p->pools ? -DBL_MAX : (double)p->biases[f];
  int taps = 0, counted = 0;
  for (int c = 0; c < channels; c++)
    for (int ky = 0; ky < l->window.y.size; ky++)
      for (int kx = 0; kx < l->window.x.size; kx++, w++) {
        const float *in = tap_of(p, first + c, y, x, ky, kx);
        if (is_counted(l, y, x, ky, kx)) counted++;
        if (!in) continue;
        if (p->pools && !p->mean) sum = fmax(sum, (double)*in);
        else sum += (double)*in * (p->mean ? 1 : (double)*w);
        taps++;
      }
  if (p->mean) return sum / (l->count_padding ? counted : taps);
  return p->pools ? sum : mafat_exact_activation(sum, &l->activation);
}

static struct mafat_weights *open_weights(const struct problem *p)
{
  const struct mafat_layer *l = p->layer;
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  int32_t header[5] = {0, 2, 0, 0, 0};
  int fd = memfd_create("weights", 0);
  ssize_t biases = p->pools ? 0 : l->out.c * (ssize_t)sizeof(float);
  ssize_t weights = p->pools ? 0 : biases * (l->in.c / l->groups) * mafat_window_area(&l->window);
  ck_assert_int_eq(write(fd, header, sizeof header), sizeof header);
  ck_assert_int_eq(write(fd, p->biases, (size_t)biases), biases);
  ck_assert_int_eq(write(fd, p->weights, (size_t)weights), weights);
  int code = test_weights_from(&w, fd, p->network, 1, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  return w;
}

static void compare(const struct problem *p, const char *plan_text,
                    const struct mafat_kernels *level, int i)
{
  struct mafat_weights *w = open_weights(p);
  const struct test_meaning meaning = {exact_output, p, i};
  test_compare(p->network, w, plan_text, level, p->input, &meaning);
  mafat_weights_close(&w);
}

START_TEST(outputs_are_what_windows_mean)
{
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  struct test_rng rng = test_rng(41000 + (uint64_t)_i);
  for (int i = 0; i < 10; i++) {
    struct problem p;
    if (make_problem(&p, &rng)) {
      for (int l = 0; l < n_levels; l++) compare(&p, "1x1", levels[l], i);
      compare(&p, "rows1", levels[n_levels - 1], i);
      compare(&p, "panels", levels[n_levels - 1], i);
    }
    release_problem(&p);
  }
}
END_TEST

Suite *windows_suite(void)
{
  Suite *s = suite_create("windows");
  TCase *t = tcase_create("windows");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, outputs_are_what_windows_mean, 0, test_seeds(30));
  suite_add_tcase(s, t);
  return s;
}
