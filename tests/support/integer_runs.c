/* Runs random integer models by several plans and compares the outputs with the expected values.
 * Called by suites of integer models. A difference fails the test. */
#include "tests/support/integer_runs.h"

#include "formats/tflite/model.h"
#include "runner/engine/executor.h"
#include "search/best/best.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS = 7, HOW_ROOM = TEST_PLAN_ROOM + 64 };

/* ---- inputs and outputs ---- */

static float *make_input(const struct test_integer_graph *g, const struct mafat_port *port)
{
  const struct test_integer_map *in = &g->maps[0];
  float *chw = calloc((size_t)mafat_shape_elements(port->shape), sizeof *chw);
  for (long long i = 0; i < mafat_view_elements(&port->view); i++)
    chw[test_input_place(port, i)] = in->scale * (float)(in->at[i] - in->zero);
  return chw;
}

static const char *name_of(const struct test_integer_graph *g, int tensor)
{
  for (int o = 0; o < g->model.n_operators; o++)
    if (g->operators[o].outputs[0] == tensor) return mafat_tflite_code_name(g->operators[o].code);
  return "";
}

static void compare(const struct test_integer_graph *g, const struct mafat_network *n,
                    const struct mafat_executor *e, const char *how)
{
  for (int k = 0; k < n->n_outputs; k++) {
    const struct test_integer_map *m = test_integer_graph_output(g, k);
    ck_assert_int_eq(mafat_view_elements(&n->outputs[k].view), (long long)m->h * m->w * m->c);
    for (int i = 0; i < m->h * m->w * m->c; i++) {
      float value = test_output_at(e, &n->outputs[k], i);
      long found = m->places ? lrintf(value) : lrint((double)value / (double)m->scale) + m->zero;
      ck_assert_msg(found == m->at[i], "%s: %s %s, element %d (%d x %d x %d): %ld instead of %d",
                    how, name_of(g, m->tensor), n->outputs[k].name, i, m->h, m->w, m->c, found,
                    m->at[i]);
    }
  }
}

/* ---- runs ---- */

static int run_twice(const struct test_integer_graph *g, const struct mafat_network *n,
                     struct mafat_executor *e, const struct mafat_layout *layout, const char *how,
                     struct mafat_diagnostic *d)
{
  float *input = make_input(g, &n->inputs[0]);
  int code = MAFAT_OK;
  mafat_executor_set_input(e, input);
  for (int i = 0; i < 2 && code == MAFAT_OK; i++) {
    memset((void *)(uintptr_t)mafat_executor_arena(e), 0x5a, layout->total_bytes);
    code = mafat_executor_run(e, d);
    if (code == MAFAT_OK) compare(g, n, e, how);
  }
  free(input);
  return code;
}

int test_integer_run(const struct test_integer_graph *g, const struct mafat_network *n,
                     const struct test_integer_run *run, struct mafat_diagnostic *d)
{
  struct mafat_plan_options plan_options;
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *w = NULL;
  char how[HOW_ROOM];
  mafat_plan_defaults(&plan_options);
  plan_options.n_threads = run->threads;
  plan_options.packed = run->packed;
  plan_options.keep_all = run->keeps_all;
  mafat_executor_defaults(&options);
  if (run->kernels) options.kernels = run->kernels;
  snprintf(how, sizeof how, "%s%s, %d threads, %s", run->plan, run->packed ? ", packed" : "",
           run->threads, options.kernels->name);
  struct mafat_plan *plan = test_plan_with(n, run->plan, &plan_options);
  struct mafat_layout *layout = test_layout(n, plan);
  int code = mafat_weights_open(&w, run->path, n, plan, layout, NULL, NULL, d);
  if (code == MAFAT_OK) code = mafat_executor_open(&e, n, plan, layout, w, &options, d);
  if (code == MAFAT_OK) code = run_twice(g, n, e, layout, how, d);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

/* Writes the plan with the smallest arena to `text`. */
static void find_least(const struct mafat_network *n, char *text, size_t capacity)
{
  static const struct mafat_footprint footprint = {.process_bytes = 3 << 20};
  struct mafat_diagnostic d = {""};
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_front *front;
  mafat_plan_defaults(&options);
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request request = {.network = n,
                                         .n_layers = n->n_layers,
                                         .options = &options,
                                         .footprint = &footprint,
                                         .calibration = &calibration,
                                         .least = true};
  ck_assert_msg(mafat_search_front(&front, &request, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_uint_lt(mafat_spec_write(front->list[0].spec, text, capacity), capacity);
  mafat_front_close(&front);
}

void test_integer_run_plans(struct test_integer_graph *g, const struct mafat_network *n,
                            const char *path, bool packed)
{
  static const char *const usual[] = {"1x1", "rows1", "panels"};
  for (int p = 0; p < PLANS; p++) {
    char text[TEST_PLAN_ROOM];
    struct mafat_diagnostic d = {""};
    if (p < 3) snprintf(text, sizeof text, "%s", usual[p]);
    else if (p == 3) find_least(n, text, sizeof text);
    else if (p % 4 == 0) test_random_units(&g->rng, n, text, sizeof text);
    else test_random_plan(&g->rng, n, n->n_layers, text, sizeof text);
    struct mafat_plan_options options;
    mafat_plan_defaults(&options);
    if (p % 2 && p > 3 && !test_random_split(&g->rng, n, &options, text, sizeof text))
      snprintf(text, sizeof text, "1x1");
    int threads = test_random_int(&g->rng, 1, 3), level = test_random_int(&g->rng, 0, 59);
    const struct test_integer_run run = {.path = path,
                                         .plan = text,
                                         .packed = packed,
                                         .threads = threads,
                                         .kernels = test_level(level)};
    int code = test_integer_run(g, n, &run, &d);
    ck_assert_msg(code == MAFAT_OK, "%s: %s", text, d.text);
  }
}
