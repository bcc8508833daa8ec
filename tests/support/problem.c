/* Makes a network around one layer of any kind, and runs it by several plans. Called by the
 * suites in tests/unit/kinds. A wrong output fails the test. */
#include "tests/support/problem.h"

#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY, FIRST, FIRST_RELU, AGAIN, SECOND, SECOND_RELU, LAST, MOST_SLICES = 64 };

/* ---- making a problem ---- */

void test_problem_open(struct test_problem *p, struct test_rng *rng, enum mafat_layer_type type,
                       struct mafat_shape one, struct mafat_shape two)
{
  char cfg[1024];
  int h = mafat_max(one.h, two.h) + test_random_int(rng, 0, 2),
      w = mafat_max(one.w, two.w) + test_random_int(rng, 0, 2);
  int c = test_random_int(rng, 1, mafat_max(one.c, two.c) + 5);
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=%d\nwidth=%d\nchannels=%d\n[activation]\nactivation=linear\n"
           "[crop]\ncrop_height=%d\ncrop_width=%d\nnoadjust=1\n[activation]\nactivation=relu\n["
           "route]\nlayers=0\n"
           "[crop]\ncrop_height=%d\ncrop_width=%d\nnoadjust=1\n[activation]\nactivation=relu\n["
           "activation]\nactivation=linear\n",
           h, w, c, one.h, one.w, two.h, two.w);
  p->network = test_network(cfg);
  p->layer = &p->network->layers[LAST];
  p->layer->type = type;
  p->tolerance = 2e-6;
  p->output = 0;
  free(p->layer->operands[0].sources.list);
  p->layer->n_operands = 0;
  p->input = malloc((size_t)h * (size_t)w * (size_t)c * sizeof *p->input);
  for (int i = 0; i < h * w * c; i++) p->input[i] = (float)(test_random(rng) >> 8) / 8388608.0f - 1;
}

void test_problem_close(struct test_problem *p)
{
  free(p->input);
  mafat_network_close(&p->network);
}

/* Returns a random tensor that has this width and at least this height. */
static int random_tensor(const struct test_problem *p, struct test_rng *rng,
                         struct mafat_shape wanted)
{
  for (;;) {
    int tensor = mafat_network_above(p->network, test_random_int(rng, 0, LAST));
    struct mafat_shape s = mafat_network_tensor_shape(p->network, tensor);
    if (!mafat_layer_is_alias(&p->network->layers[tensor]) && s.h >= wanted.h && s.w == wanted.w)
      return tensor;
  }
}

void test_problem_add(struct test_problem *p, struct test_rng *rng, struct mafat_shape shape)
{
  struct mafat_source list[MOST_SLICES];
  struct mafat_operand o = {{list, 0, 1}, {shape.h, shape.w, 0}, false};
  while (o.shape.c < shape.c) {
    int tensor = random_tensor(p, rng, shape);
    struct mafat_shape s = mafat_network_tensor_shape(p->network, tensor);
    int most = mafat_min(s.c, shape.c - o.shape.c),
        n = test_random_chance(rng, 70) ? most : test_random_int(rng, 1, most);
    ck_assert_int_lt(o.sources.n, MOST_SLICES);
    list[o.sources.n++] = (struct mafat_source){tensor, test_random_int(rng, 0, s.c - n), n,
                                                test_random_int(rng, 0, s.h - shape.h), shape.h};
    o.shape.c += n;
  }
  test_add_operand(p->layer, &o);
  if (test_random_chance(rng, 40)) test_weave(rng, p->network, LAST, p->layer->n_operands - 1);
}

void test_problem_infer(struct test_problem *p)
{
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, LAST,
                                              mafat_layer_type_name(p->layer->type), &d};
  for (int k = 0; k < p->layer->n_operands; k++)
    ck_assert_msg(mafat_network_check_operand(p->network, LAST, k, &context) == MAFAT_OK, "%s",
                  d.text);
  ck_assert_msg(mafat_layer_infer(p->layer, &context) == MAFAT_OK, "%s", d.text);
  p->network->n_more = 0;
  p->layer->output = false;
  ck_assert_int_eq(mafat_network_add_outputs(p->network, LAST), MAFAT_OK);
  mafat_network_keep(p->network, mafat_network_output(p->network, LAST, p->output));
  test_constants(p->network);
}

static struct mafat_shape shape_of(const struct test_problem *p)
{
  return mafat_layer_output_shape(p->layer, p->output);
}

/* ---- expected inputs ---- */

static double tensor_at(const struct test_problem *p, int tensor, int c, int y, int x)
{
  const struct mafat_layer *l = &p->network->layers[tensor];
  struct mafat_shape s = mafat_network_picture_shape(p->network);
  if (mafat_layer_is_input(l)) return (double)p->input[(c * s.h + y) * s.w + x];
  bool crops = tensor == FIRST || tensor == SECOND;
  double value = tensor_at(p, mafat_layer_sources(l)->list->tensor, c, y + (crops ? l->crop_y : 0),
                           x + (crops ? l->crop_x : 0));
  return l->activation.kind == MAFAT_RELU ? fmax(value, 0) : value;
}

double test_problem_at(const struct test_problem *p, int operand, int c, int y, int x)
{
  const struct mafat_source *s = test_source_at(&p->layer->operands[operand], &c, &y);
  return tensor_at(p, s->tensor, c, y, x);
}

/* ---- runs ---- */

static struct mafat_weights *no_weights(const struct mafat_network *n)
{
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  int fd = test_weights_file(n, 1), code = test_weights_from(&w, fd, n, n->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  return w;
}

static float *run(const struct test_problem *p, const char *plan_text, int threads,
                  const struct mafat_kernels *kernels)
{
  struct mafat_executor_options options;
  struct mafat_plan_options plan_options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *w = no_weights(p->network);
  mafat_plan_defaults(&plan_options);
  plan_options.n_threads = threads;
  struct mafat_plan *plan = test_plan_with(p->network, plan_text, &plan_options);
  struct mafat_layout *layout = test_layout(p->network, plan);
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  ck_assert_int_eq(mafat_executor_open(&e, p->network, plan, layout, w, &options, NULL), MAFAT_OK);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
  mafat_executor_set_input(e, p->input);
  ck_assert_int_eq(mafat_executor_run(e, NULL), MAFAT_OK);
  struct mafat_view view;
  struct mafat_source self;
  struct mafat_sources all = mafat_network_tensor_sources(
      p->network, mafat_network_output(p->network, LAST, p->output), &self);
  float *out = malloc((size_t)mafat_shape_elements(shape_of(p)) * sizeof *out);
  mafat_view_planes(&view, shape_of(p));
  mafat_executor_read_view(e, &all, &view, 0, mafat_shape_elements(shape_of(p)), out);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  return out;
}

static void compare(const struct test_problem *p, const float *found,
                    const struct test_meaning *meaning, const char *level)
{
  struct mafat_shape s = shape_of(p);
  for (int c = 0; c < s.c; c++)
    for (int y = 0; y < s.h; y++)
      for (int x = 0; x < s.w; x++, found++) {
        double exact = meaning->output(meaning->problem, c, y, x);
        ck_assert_msg(fabs((double)*found - exact) <= p->tolerance * fmax(1, fabs(exact)),
                      "case %d, %s: output (%d, %d, %d) of (%d, %d, %d) is %.9g, exactly %.9g",
                      meaning->number, level, c, y, x, s.c, s.h, s.w, (double)*found, exact);
      }
}

static void check_plan(const struct test_problem *p, const char *plan, const float *expected,
                       int number, int threads, const struct mafat_kernels *level)
{
  float *found = run(p, plan, threads, level);
  ck_assert_msg(memcmp(found, expected,
                       (size_t)mafat_shape_elements(shape_of(p)) * sizeof *found) == 0,
                "case %d, plan %s, %d threads: other bits than 1x1's", number, plan, threads);
  free(found);
}

/* Runs the plans of a fixed list that divide layers into parts; a plan that the network refuses
 * is skipped. */
static void check_splits(const struct test_problem *p, const float *expected, int number,
                         const struct mafat_kernels *level)
{
  static const char *const splits[] = {"%c%d:0-6", "%c%d:0-5", "%c%d:6", "%c%d:4-6",
                                       "w2:6,%c%d:1-6"};
  static const char *const orders[] = {"", "/order=best", "/order=postorder"};
  for (int i = 0; i < 3 * (int)(sizeof splits / sizeof *splits); i++) {
    char split[24], text[64];
    struct mafat_plan *plan;
    snprintf(split, sizeof split, splits[i / 3], "hwc"[i % 3], 2 + (number + i) % 3);
    snprintf(text, sizeof text, "split(%s)%s", split, orders[(number + i) % 3]);
    if (mafat_plan_read(&plan, text, p->network, p->network->n_layers, NULL, NULL)) continue;
    mafat_plan_close(&plan);
    check_plan(p, text, expected, number, 1 + (number + i) % 3, level);
  }
}

static void check_plans(const struct test_problem *p, const float *expected, int number,
                        const struct mafat_kernels *level)
{
  char tiles[32], tiles_alone[48], rows_before[48];
  snprintf(tiles, sizeof tiles, "%dx%d", mafat_min(p->layer->out.h, 3),
           mafat_min(p->layer->out.w, 2));
  snprintf(tiles_alone, sizeof tiles_alone, "1x1/%d/%s", LAST, tiles);
  snprintf(rows_before, sizeof rows_before, "rows1/%d/%s", SECOND, tiles);
  const char *const plans[] = {"rows1", "rows3", "panels", tiles, tiles_alone, rows_before, "1x1"};
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
    check_plan(p, plans[i], expected, number, 1 + (number + (int)i) % 3, level);
  check_splits(p, expected, number, level);
}

void test_problem_check(const struct test_problem *p, const struct test_meaning *meaning)
{
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  for (int i = 0; i < n_levels; i++) {
    float *found = run(p, "1x1", 1, levels[i]);
    compare(p, found, meaning, levels[i]->name);
    if (i == n_levels - 1) check_plans(p, found, meaning->number, levels[i]);
    free(found);
  }
}
