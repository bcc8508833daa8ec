/* Covers base/winograd.c, predictor/plan/winograd.c, {predictor,
 * runner/engine}/kinds/conv_winograd.c: which layers Winograd's algorithms apply to, and how exact
 * an executor's outputs are, compared with the same layer in double precision. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "predictor/planning/planning.h"
#include "predictor/plan/winograd.h"
#include "runner/engine/executor.h"
#include "tests/support/support.h"

Suite *winograd_suite(void);

/* Tolerances relative to the largest output. */
static const double tolerances[MAFAT_N_ALGORITHMS] = {
    [MAFAT_WINOGRAD] = 1e-5, [MAFAT_WINOGRAD_LARGE] = 2e-5};

/* ---- layers that it applies to ---- */

struct row {
  const char *what, *layer; /* name for messages; layer that reads an input of 52 x 52 x 64 */
  bool applies;
  enum mafat_algorithm fastest;
};

static const struct row rows[] = {
    {"3x3", "[convolutional]\nfilters=64\nsize=3\npad=1\n", true, MAFAT_WINOGRAD},
    {"3x3 without padding", "[convolutional]\nfilters=64\nsize=3\n", true, MAFAT_WINOGRAD},
    {"3x3, one filter", "[convolutional]\nfilters=1\nsize=3\npad=1\n", true, MAFAT_DIRECT},
    {"3x3, stride 2", "[convolutional]\nfilters=64\nsize=3\nstride=2\npad=1\n", false,
     MAFAT_DIRECT},
    {"3x3, two groups", "[convolutional]\nfilters=64\nsize=3\ngroups=2\npad=1\n", false,
     MAFAT_DIRECT},
    {"3x3, depthwise", "[convolutional]\nfilters=64\nsize=3\ngroups=64\npad=1\n", false,
     MAFAT_DIRECT},
    {"1x1", "[convolutional]\nfilters=64\nsize=1\n", false, MAFAT_DIRECT},
    {"5x5", "[convolutional]\nfilters=64\nsize=5\npad=1\n", false, MAFAT_DIRECT},
    {"maxpool 3x3", "[maxpool]\nsize=3\nstride=1\n", false, MAFAT_DIRECT},
    {"local 3x3", "[local]\nfilters=2\nsize=3\nstride=1\npad=1\n", false, MAFAT_DIRECT},
};

START_TEST(it_is_for_3x3_of_stride_1)
{
  const struct row *r = &rows[_i];
  char cfg[256];
  snprintf(cfg, sizeof cfg, "[net]\nheight=52\nwidth=52\nchannels=64\n%s", r->layer);
  struct mafat_network *n = test_network(cfg);
  ck_assert_msg(mafat_winograd_applies(&n->layers[0]) == r->applies, "%s: applies", r->what);
  ck_assert_msg(mafat_winograd_fastest(&n->layers[0]) == r->fastest, "%s: fastest", r->what);
  mafat_network_close(&n);
}
END_TEST

struct shape_row {
  int h, w, in_c, filters;
  enum mafat_algorithm fastest;
};

/* Shapes far from the limit at which it begins to pay, because measurements set that limit. */
static const struct shape_row shapes[] = {
    {104, 104, 128, 128, MAFAT_WINOGRAD_LARGE}, {52, 52, 128, 256, MAFAT_WINOGRAD_LARGE},
    {19, 19, 512, 1024, MAFAT_WINOGRAD},        {13, 13, 512, 1024, MAFAT_WINOGRAD},
    {608, 608, 3, 32, MAFAT_DIRECT},            {416, 416, 1, 16, MAFAT_DIRECT},
    {1, 1, 512, 512, MAFAT_DIRECT},             {2, 2, 512, 512, MAFAT_DIRECT},
};

START_TEST(it_pays_for_large_maps_of_many_channels)
{
  const struct shape_row *r = &shapes[_i];
  char cfg[256];
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=%d\nwidth=%d\nchannels=%d\n[convolutional]\nfilters=%d\nsize=3\npad=1\n",
           r->h, r->w, r->in_c, r->filters);
  struct mafat_network *n = test_network(cfg);
  ck_assert_msg(mafat_winograd_fastest(&n->layers[0]) == r->fastest, "%d x %d x %d, %d filters",
                r->h, r->w, r->in_c, r->filters);
  mafat_network_close(&n);
}
END_TEST

START_TEST(tiles_cover_a_side)
{
  static const int tiles[] = {0, 1, 1, 1, 1, 2, 2, 2, 2, 3},
                   large[] = {0, 1, 1, 1, 1, 1, 1, 2, 2, 2};
  for (int n = 0; n < 10; n++) {
    ck_assert_int_eq(mafat_winograd_tiles(mafat_winograd_find(MAFAT_WINOGRAD_4X4), n), tiles[n]);
    ck_assert_int_eq(mafat_winograd_tiles(mafat_winograd_find(MAFAT_WINOGRAD_6X6), n), large[n]);
  }
}
END_TEST

static void check_algorithms(const struct mafat_network *n, const struct mafat_plan *plan,
                             enum mafat_algorithm wanted, const char *cfg, const char *text)
{
  for (int l = 0; l < plan->n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    enum mafat_algorithm named = mafat_winograd_applies(layer) ? wanted : MAFAT_DIRECT;
    if (plan->algorithms[l] != (wanted == MAFAT_AUTO ? mafat_winograd_fastest(layer) : named))
      test_fail_case(cfg, text, "%s: layer %d is %s", mafat_algorithm_name(wanted), l,
                     mafat_algorithm_name(plan->algorithms[l]));
  }
}

/* The algorithm depends on the layer only, not on how the work is cut or shared. */
START_TEST(no_plan_changes_the_algorithm)
{
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_rng rng = test_rng(31000 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  for (int i = 0; i < 12; i++) {
    struct mafat_plan_options options;
    struct mafat_plan *plan = NULL;
    int n_layers = test_random_int(&rng, 1, n->n_layers);
    mafat_plan_defaults(&options);
    options.algorithm = (enum mafat_algorithm)(i % MAFAT_N_ALGORITHMS);
    options.n_threads = test_random_int(&rng, 1, 8);
    options.keep_all = test_random_chance(&rng, 50);
    test_random_plan(&rng, n, n_layers, text, sizeof text);
    ck_assert_int_eq(mafat_plan_read(&plan, text, n, n_layers, &options, NULL), MAFAT_OK);
    check_algorithms(n, plan, options.algorithm, cfg, text);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

/* ---- how exact it is ---- */

/* One layer; with `pool`, a 2x2 maxpool of stride 2 reads it. */
struct problem {
  int h, w, c, filters, pad;
  bool pool;
  int n_threads;
  float *input;           /* [c][h][w] */
  float *biases, *weights; /* [filters], [filters][c][3][3] */
};

static float *random_floats(struct test_rng *rng, size_t n, float least, float most)
{
  float *x = malloc(n * sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = least + (most - least) * (float)(test_random(rng) >> 8) / 16777216.0f;
  return x;
}

static void draw_numbers(struct problem *p, struct test_rng *rng)
{
  float range = 1.7f / sqrtf(9 * (float)p->c);
  p->input = random_floats(rng, (size_t)p->c * (size_t)p->h * (size_t)p->w, -1, 1);
  p->biases = random_floats(rng, (size_t)p->filters, -.2f, .2f);
  p->weights = random_floats(rng, (size_t)p->filters * (size_t)p->c * 9, -range, range);
}

static void release_numbers(struct problem *p)
{
  free(p->input);
  free(p->biases);
  free(p->weights);
}

/* One output of the convolution, after the leaky activation. */
static double exact_output(const struct problem *p, int f, int y, int x)
{
  double sum = (double)p->biases[f];
  for (int c = 0; c < p->c; c++)
    for (int ky = 0; ky < 3; ky++)
      for (int kx = 0; kx < 3; kx++) {
        int iy = y + ky - p->pad, ix = x + kx - p->pad;
        if (iy < 0 || iy >= p->h || ix < 0 || ix >= p->w) continue;
        sum += (double)p->input[(c * p->h + iy) * p->w + ix] *
               (double)p->weights[((f * p->c + c) * 3 + ky) * 3 + kx];
      }
  return sum < 0 ? sum * .1 : sum;
}

/* The whole output map; windows of the pool may reach past its last row and column. */
static double *exact_map(const struct problem *p, struct mafat_shape out)
{
  double *map = malloc((size_t)out.c * (size_t)out.h * (size_t)out.w * sizeof *map);
  int h = p->h + 2 * p->pad - 2, w = p->w + 2 * p->pad - 2, step = p->pool ? 2 : 1;
  size_t at = 0;
  for (int f = 0; f < out.c; f++)
    for (int y = 0; y < out.h; y++)
      for (int x = 0; x < out.w; x++, at++) {
        map[at] = -DBL_MAX;
        for (int dy = 0; dy < step; dy++)
          for (int dx = 0; dx < step; dx++)
            if (y * step + dy < h && x * step + dx < w)
              map[at] = fmax(map[at], exact_output(p, f, y * step + dy, x * step + dx));
      }
  return map;
}

static struct mafat_weights *open_weights(const struct problem *p, const struct mafat_network *n)
{
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  int32_t header[5] = {0, 2, 0, 0, 0};
  int fd = memfd_create("weights", 0);
  ssize_t biases = p->filters * (ssize_t)sizeof(float), weights = biases * p->c * 9;
  ck_assert_int_eq(write(fd, header, sizeof header), sizeof header);
  ck_assert_int_eq(write(fd, p->biases, (size_t)biases), biases);
  ck_assert_int_eq(write(fd, p->weights, (size_t)weights), weights);
  int code = test_weights_from(&w, fd, n, n->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  return w;
}

static float *run_winograd(const struct problem *p, const struct mafat_network *n,
                           struct mafat_weights *w, const struct mafat_kernels *kernels,
                           enum mafat_algorithm algorithm)
{
  struct mafat_plan_options how;
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  struct mafat_shape out = n->layers[n->n_layers - 1].out;
  mafat_plan_defaults(&how);
  how.algorithm = algorithm;
  how.n_threads = p->n_threads;
  struct mafat_plan *plan = test_plan_with(n, "1x1", &how);
  ck_assert_int_eq(plan->algorithms[0], algorithm);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, NULL), MAFAT_OK);
  mafat_executor_set_input(e, p->input);
  ck_assert_int_eq(mafat_executor_run(e, NULL), MAFAT_OK);
  float *map = malloc((size_t)out.c * (size_t)out.h * (size_t)out.w * sizeof *map);
  mafat_executor_read_output(e, n->n_layers - 1, map);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return map;
}

static void write_cfg(const struct problem *p, char *cfg, size_t capacity)
{
  snprintf(cfg, capacity,
           "[net]\nheight=%d\nwidth=%d\nchannels=%d\n"
           "[convolutional]\nfilters=%d\nsize=3\npadding=%d\nactivation=leaky\n%s",
           p->h, p->w, p->c, p->filters, p->pad, p->pool ? "[maxpool]\nsize=2\nstride=2\n" : "");
}

/* Compares all kernel levels with one reference. */
static void check_problem(struct problem *p, struct test_rng *rng, enum mafat_algorithm algorithm)
{
  char cfg[256];
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  write_cfg(p, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  struct mafat_shape out = n->layers[n->n_layers - 1].out;
  size_t floats = (size_t)out.c * (size_t)out.h * (size_t)out.w;
  draw_numbers(p, rng);
  struct mafat_weights *w = open_weights(p, n);
  double *exact = exact_map(p, out), largest = 0;
  for (size_t i = 0; i < floats; i++) largest = fmax(largest, fabs(exact[i]));
  for (int l = 0; l < n_levels; l++) {
    float *map = run_winograd(p, n, w, levels[l], algorithm);
    for (size_t i = 0; i < floats; i++)
      if (!(fabs((double)map[i] - exact[i]) <= tolerances[algorithm] * largest))
        test_fail_case(
            cfg, "1x1",
            "%s, %s, %d threads: output %zu of %zu is %.9g, exactly %.9g; the largest is %.3g",
            mafat_algorithm_name(algorithm), levels[l]->name, p->n_threads, i, floats,
            (double)map[i], exact[i], largest);
    free(map);
  }
  free(exact);
  release_numbers(p);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}

/* Outputs are exact for odd maps, maps smaller than a tile, and channels and filters that do not
 * fill a block. */
START_TEST(outputs_are_exact_for_any_shape)
{
  struct test_rng rng = test_rng(32000 + (uint64_t)_i);
  for (int i = 0; i < 5; i++) {
    struct problem p = {.h = test_random_int(&rng, 3, 19), .w = test_random_int(&rng, 3, 23),
                        .c = test_random_int(&rng, 1, 50), .filters = test_random_int(&rng, 1, 50),
                        .pad = test_random_int(&rng, 0, 2), .pool = test_random_chance(&rng, 40),
                        .n_threads = test_random_int(&rng, 1, 3)};
    check_problem(&p, &rng, i % 2 ? MAFAT_WINOGRAD_LARGE : MAFAT_WINOGRAD);
  }
}
END_TEST

static const struct problem problems[] = {
    {.h = 9, .w = 10, .c = 512, .filters = 20, .pad = 1, .n_threads = 1},
    {.h = 10, .w = 9, .c = 512, .filters = 33, .pad = 1, .pool = true, .n_threads = 2},
    {.h = 6, .w = 7, .c = 1030, .filters = 17, .pad = 0, .n_threads = 1}, /* more than a turn's
                                                                             channels */
    {.h = 5, .w = 5, .c = 144, .filters = 96, .pad = 2, .n_threads = 2},
    {.h = 61, .w = 67, .c = 17, .filters = 5, .pad = 1, .pool = true, .n_threads = 1}, /* many tiles
                                                                                        */
    {.h = 3, .w = 3, .c = 1, .filters = 1, .pad = 0, .n_threads = 1},
    {.h = 1, .w = 1, .c = 19, .filters = 16, .pad = 1, .n_threads = 1},
    {.h = 1, .w = 40, .c = 16, .filters = 16, .pad = 1, .pool = true, .n_threads = 2},
};

START_TEST(outputs_are_exact_for_chosen_shapes)
{
  struct test_rng rng = test_rng(33000 + (uint64_t)_i);
  struct problem p = problems[_i / 2];
  check_problem(&p, &rng, _i % 2 ? MAFAT_WINOGRAD_LARGE : MAFAT_WINOGRAD);
}
END_TEST

/* Layers that threads share in different ways: panels that divide evenly among them or do not; one
 * turn (a few rows of tiles that are transformed together), fewer turns than threads, or more. */
static const struct problem shared[] = {
    {.h = 19, .w = 19, .c = 64, .filters = 256, .pad = 1}, /* one turn, 8 panels */
    {.h = 19,
     .w = 19,
     .c = 200,
     .filters = 96,
     .pad = 1}, /* more channels than are transformed at a time */
    {.h = 38, .w = 38, .c = 24, .filters = 128, .pad = 1}, /* two turns whose weights are kept */
    {.h = 38, .w = 41, .c = 300, .filters = 80, .pad = 1, .pool = true}, /* weights not kept */
    {.h = 13, .w = 70, .c = 20, .filters = 33, .pad = 1, .pool = true},
    {.h = 70, .w = 70, .c = 17, .filters = 64, .pad = 0},  /* more turns than threads */
    {.h = 24, .w = 100, .c = 16, .filters = 20, .pad = 1}, /* one panel */
    {.h = 4, .w = 4, .c = 33, .filters = 40, .pad = 1},
};

START_TEST(threads_change_no_bit)
{
  struct test_rng rng = test_rng(34000 + (uint64_t)_i);
  struct problem p = shared[_i / 2];
  enum mafat_algorithm algorithm = _i % 2 ? MAFAT_WINOGRAD_LARGE : MAFAT_WINOGRAD;
  char cfg[256];
  write_cfg(&p, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  draw_numbers(&p, &rng);
  struct mafat_weights *w = open_weights(&p, n);
  struct mafat_shape out = n->layers[n->n_layers - 1].out;
  float *alone = NULL;
  for (p.n_threads = 1; p.n_threads <= 5; p.n_threads++) {
    float *map = run_winograd(&p, n, w, mafat_kernels_find(NULL), algorithm);
    if (!alone) alone = map;
    else if (memcmp(map, alone, (size_t)out.c * (size_t)out.h * (size_t)out.w * sizeof *map) != 0)
      test_fail_case(cfg, "1x1", "%s: bits differ with %d threads", mafat_algorithm_name(algorithm),
                     p.n_threads);
    if (map != alone) free(map);
  }
  free(alone);
  release_numbers(&p);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

Suite *winograd_suite(void)
{
  Suite *s = suite_create("winograd");
  TCase *t = tcase_create("winograd");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, it_is_for_3x3_of_stride_1, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(t, it_pays_for_large_maps_of_many_channels, 0,
                      sizeof shapes / sizeof *shapes);
  tcase_add_test(t, tiles_cover_a_side);
  tcase_add_loop_test(t, no_plan_changes_the_algorithm, 0, test_seeds(40));
  tcase_add_loop_test(t, outputs_are_exact_for_any_shape, 0, test_seeds(40));
  tcase_add_loop_test(t, outputs_are_exact_for_chosen_shapes, 0,
                      2 * sizeof problems / sizeof *problems);
  tcase_add_loop_test(t, threads_change_no_bit, 0, 2 * sizeof shared / sizeof *shared);
  suite_add_tcase(s, t);
  return s;
}
