/* Whole models of whole numbers: what comes out of any plan, by any number of threads, at every level, is what the written
 * rule makes operator by operator. */
#include "formats/tflite/import.h"
#include "formats/tflite/model.h"
#include "runner/executor.h"
#include "tests/support/imported.h"
#include "tests/support/integer_graph.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *integer_graphs_suite(void);

enum { GRAPHS = 400, PLANS = 6, MOST_LEVELS = 8 };

/* ---- what is put in, and found ---- */

static float *make_input(const struct test_integer_graph *g, const struct mafat_port *port)
{
  const struct test_integer_map *in = &g->maps[0];
  float *chw = calloc((size_t)mafat_shape_elements(port->shape), sizeof *chw);
  for (long long i = 0; i < mafat_view_elements(&port->view); i++) {
    int c, y, x;
    mafat_port_find(port, i, &c, &y, &x);
    chw[((size_t)c * (size_t)port->shape.h + (size_t)y) * (size_t)port->shape.w + (size_t)x] = in->scale * (float)(in->at[i] - in->zero);
  }
  return chw;
}

static float output_at(const struct mafat_executor *e, const struct mafat_port *port, long long index)
{
  const struct mafat_operand o = {.sources = port->sources, .shape = port->shape};
  int c, y, x;
  mafat_port_find(port, index, &c, &y, &x);
  const struct mafat_source *s = test_source_at(&o, &c, &y);
  return mafat_executor_output_at(e, s->tensor, c, y, x);
}

static const char *name_of(const struct test_integer_graph *g, int tensor)
{
  for (int o = 0; o < g->model.n_operators; o++)
    if (g->operators[o].outputs[0] == tensor) return mafat_tflite_code_name(g->operators[o].code);
  return "";
}

static void compare(const struct test_integer_graph *g, const struct mafat_network *n, const struct mafat_executor *e, const char *how)
{
  for (int k = 0; k < n->n_outputs; k++) {
    const struct test_integer_map *m = test_integer_graph_output(g, k);
    ck_assert_int_eq(mafat_view_elements(&n->outputs[k].view), (long long)m->h * m->w * m->c);
    for (int i = 0; i < m->h * m->w * m->c; i++) {
      float value = output_at(e, &n->outputs[k], i);
      long found = m->places ? lrintf(value) : lrint((double)value / (double)m->scale) + m->zero;
      ck_assert_msg(found == m->at[i], "%s: %s %s, element %d (%d x %d x %d): %ld instead of %d", how, name_of(g, m->tensor),
                    n->outputs[k].name, i, m->h, m->w, m->c, found, m->at[i]);
    }
  }
}

/* ---- runs ---- */

static void run(const struct test_integer_graph *g, const struct test_imported *m, const char *plan_text, int threads,
                const struct mafat_kernels *kernels)
{
  const struct mafat_network *n = m->network;
  struct mafat_diagnostic d = {""};
  struct mafat_plan_options plan_options;
  struct mafat_executor_options options;
  struct mafat_executor *e;
  struct mafat_weights *w;
  char how[TEST_PLAN_ROOM + 64];
  snprintf(how, sizeof how, "%s, %d threads, %s", plan_text, threads, kernels->name);
  mafat_plan_defaults(&plan_options);
  plan_options.n_threads = threads;
  struct mafat_plan *plan = test_plan_with(n, plan_text, &plan_options);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  int code = mafat_weights_open(&w, m->path, n, plan, layout, NULL, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s: %s", how, d.text);
  code = mafat_executor_open(&e, n, plan, layout, w, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s: %s", how, d.text);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0x5a, layout->total_bytes);
  float *input = make_input(g, &n->inputs[0]);
  mafat_executor_set_input(e, input);
  ck_assert_msg(mafat_executor_run(e, &d) == MAFAT_OK, "%s: %s", how, d.text);
  compare(g, n, e, how);
  free(input);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
}

static void run_plans(struct test_integer_graph *g, const struct test_imported *m)
{
  static const char *const usual[] = {"1x1", "rows1", "panels"};
  const struct mafat_kernels *levels[MOST_LEVELS];
  int n_levels = mafat_kernels_list(levels, MOST_LEVELS);
  for (int p = 0; p < PLANS; p++) {
    char text[TEST_PLAN_ROOM];
    if (p < 3) snprintf(text, sizeof text, "%s", usual[p]);
    else test_random_plan(&g->rng, m->network, m->network->n_layers, text, sizeof text);
    run(g, m, text, test_random_int(&g->rng, 1, 3), levels[test_random_int(&g->rng, 0, n_levels - 1)]);
  }
}

START_TEST(any_plan_gives_the_rules_numbers)
{
  static struct test_integer_graph g;
  struct mafat_diagnostic d = {""};
  size_t bytes;
  test_integer_graph_open(&g, (uint64_t)_i);
  char *data = test_tflite_write(&g.model, &bytes);
  struct test_imported m = test_import(mafat_tflite_network_read, data, bytes, &d);
  ck_assert_msg(m.code == MAFAT_OK, "%s", d.text);
  run_plans(&g, &m);
  test_imported_close(&m);
  free(data);
  test_integer_graph_close(&g);
}
END_TEST

Suite *integer_graphs_suite(void)
{
  Suite *suite = suite_create("integer_graphs");
  TCase *t = tcase_create("integer_graphs");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, any_plan_gives_the_rules_numbers, 0, test_seeds(GRAPHS));
  suite_add_tcase(suite, t);
  return suite;
}
