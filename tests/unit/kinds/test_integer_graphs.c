/* Whole models of whole numbers: what comes out of any plan, by any number of threads, at every level, is what the written
 * rule makes operator by operator. */
#include "include/mafat.h"

#include "formats/tflite/import.h"
#include "formats/tflite/model.h"
#include "runner/executor.h"
#include "search/best.h"
#include "tests/support/imported.h"
#include "tests/support/integer_graph.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *integer_graphs_suite(void);

enum { GRAPHS = 600, PLANS = 7, MOST_LEVELS = 8 };

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

/* Of the plan of the least arena. */
static void find_least(const struct mafat_network *n, char *text, size_t room)
{
  static const struct mafat_surroundings around = {.process_bytes = 3 << 20};
  struct mafat_diagnostic d = {""};
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_front *front;
  mafat_plan_defaults(&options);
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request request = {.network = n, .n_layers = n->n_layers, .options = &options, .around = &around,
                                         .calibration = &calibration, .least = true};
  ck_assert_msg(mafat_search_front(&front, &request, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_uint_lt(mafat_spec_write(front->list[0].spec, text, room), room);
  mafat_front_close(&front);
}

static void run_plans(struct test_integer_graph *g, const struct test_imported *m)
{
  static const char *const usual[] = {"1x1", "rows1", "panels"};
  const struct mafat_kernels *levels[MOST_LEVELS];
  int n_levels = mafat_kernels_list(levels, MOST_LEVELS);
  for (int p = 0; p < PLANS; p++) {
    char text[TEST_PLAN_ROOM];
    if (p < 3) snprintf(text, sizeof text, "%s", usual[p]);
    else if (p == 3) find_least(m->network, text, sizeof text);
    else test_random_plan(&g->rng, m->network, m->network->n_layers, text, sizeof text);
    run(g, m, text, test_random_int(&g->rng, 1, 3), levels[test_random_int(&g->rng, 0, n_levels - 1)]);
  }
}

START_TEST(any_plan_gives_the_rules_numbers)
{
  static struct test_integer_graph g;
  struct mafat_diagnostic d = {""};
  size_t bytes;
  test_integer_graph_open(&g, (uint64_t)_i * 0x9e3779b97f4a7c15u);
  char *data = test_tflite_write(&g.model, &bytes);
  struct test_imported m = test_import(mafat_tflite_network_read, data, bytes, &d);
  /* Few dimensions of what was turned and joined before cannot be padded, whatever the type. */
  bool pads_shared = m.code == MAFAT_EUNSUPPORTED && strstr(d.text, ", which shares an axis with others");
  ck_assert_msg(m.code == MAFAT_OK || pads_shared, "%s", d.text);
  if (m.code == MAFAT_OK) run_plans(&g, &m);
  test_imported_close(&m);
  free(data);
  test_integer_graph_close(&g);
}
END_TEST

/* ---- files and floats ---- */

enum { ROOM = 1 << 16, HEADER = 128 };

/* A file's name, to be removed, and what is written to it. */
static void write_file(char path[32], const void *header, size_t n_header, const void *data, size_t n)
{
  snprintf(path, 32, "/tmp/mafat-numbers-XXXXXX");
  int fd = mkstemp(path);
  ck_assert(fd >= 0 && write(fd, header, n_header) == (ssize_t)n_header && write(fd, data, n) == (ssize_t)n && close(fd) == 0);
}

static void write_npy(char path[32], const char *type, const struct test_integer_map *m, const void *data, size_t n)
{
  char header[HEADER];
  memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
  int end = 10 + snprintf(header + 10, HEADER - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (1, %d, %d, %d), }", type, m->h, m->w, m->c);
  memset(header + end, ' ', (size_t)(HEADER - end));
  header[HEADER - 1] = '\n';
  write_file(path, header, HEADER, data, n);
}

/* The first output. */
static void run_file(struct mafat_model *model, const char *path, float *out, size_t n)
{
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_model_run_raw(model, path, &d) == MAFAT_OK, "%s", d.text);
  struct mafat_port_facts f;
  ck_assert_int_eq(mafat_model_describe_output(model, 0, &f), MAFAT_OK);
  ck_assert_msg(mafat_model_read_output_named(model, f.name, out, n, &d) == MAFAT_OK, "%s", d.text);
}

/* Numbers as the model has them, raw or in an array, and floats that mean them: one and the same. */
START_TEST(inputs_are_numbers_or_what_they_mean)
{
  static struct test_integer_graph g;
  static signed char numbers[ROOM];
  static float floats[ROOM], expected[ROOM], found[ROOM];
  struct mafat_diagnostic d = {""};
  struct mafat_model_options options;
  struct mafat_model *model;
  struct mafat_port_facts in, out;
  char raw[32], array[32], reals[32], wrong[32];
  test_integer_graph_open(&g, (uint64_t)_i * 0x9e3779b97f4a7c15u);
  int fd = test_tflite_file(&g.model);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const struct test_integer_map *m = &g.maps[0], *o = test_integer_graph_output(&g, 0);
  size_t n = (size_t)(m->h * m->w * m->c), n_out = (size_t)(o->h * o->w * o->c);
  for (size_t i = 0; i < n; i++) numbers[i] = (signed char)m->at[i], floats[i] = m->scale * (float)(m->at[i] - m->zero);
  mafat_model_defaults(&options);
  options.floats_only = true;
  options.memory_bytes = (size_t)1 << 28;
  ck_assert_msg(mafat_model_open(&model, path, NULL, &options, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_describe_input(model, 0, &in), MAFAT_OK);
  ck_assert_str_eq(in.type, g.is_signed ? "int8" : "uint8");
  ck_assert(in.scale == (double)m->scale && in.zero == m->zero);
  ck_assert_int_eq(mafat_model_describe_output(model, 0, &out), MAFAT_OK);
  ck_assert(o->places ? out.scale == 0 : out.scale == (double)o->scale && out.zero == o->zero);
  write_file(raw, "", 0, numbers, n);
  write_npy(array, g.is_signed ? "|i1" : "|u1", m, numbers, n);
  write_npy(reals, "<f4", m, floats, n * sizeof *floats);
  write_npy(wrong, g.is_signed ? "|u1" : "|i1", m, numbers, n);
  run_file(model, raw, expected, n_out);
  for (size_t i = 0; i < n_out; i++) {
    float value = o->places ? (float)o->at[i] : (float)((double)o->scale * (o->at[i] - o->zero));
    ck_assert_msg(expected[i] == value, "element %zu: %g instead of %g", i, (double)expected[i], (double)value);
  }
  run_file(model, array, found, n_out);
  ck_assert_mem_eq(found, expected, n_out * sizeof *found);
  run_file(model, reals, found, n_out);
  ck_assert_mem_eq(found, expected, n_out * sizeof *found);
  ck_assert_int_eq(mafat_model_set_input(model, NULL, floats, n, &d), MAFAT_OK);
  ck_assert_msg(mafat_model_run_inputs(model, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_output_named(model, out.name, found, n_out, &d), MAFAT_OK);
  ck_assert_mem_eq(found, expected, n_out * sizeof *found);
  ck_assert_int_eq(mafat_model_run_raw(model, wrong, &d), MAFAT_EUNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(d.text, g.is_signed ? "expected a .npy file of int8 ('|i1'), found '|u1'" : "expected a .npy file of uint8 ('|u1'), found '|i1'"));
  const char *const files[] = {raw, array, reals, wrong};
  for (int i = 0; i < 4; i++) unlink(files[i]);
  mafat_model_close(&model);
  close(fd);
  test_integer_graph_close(&g);
}
END_TEST

Suite *integer_graphs_suite(void)
{
  Suite *suite = suite_create("integer_graphs");
  TCase *t = tcase_create("integer_graphs");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, any_plan_gives_the_rules_numbers, 0, test_seeds(GRAPHS));
  tcase_add_loop_test(t, inputs_are_numbers_or_what_they_mean, 0, test_seeds(40));
  suite_add_tcase(suite, t);
  return suite;
}
