/* Runs networks and compares their outputs with expected values. Called by suites in tests/unit,
 * integer_runs.c and problem.c. A difference fails the test. */
#include "runner/engine/executor.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

const struct mafat_kernels *test_level(int i)
{
  const struct mafat_kernels *levels[8];
  return levels[i % mafat_kernels_list(levels, 8)];
}

size_t test_input_place(const struct mafat_port *port, long long index)
{
  int c, y, x;
  mafat_port_find(port, index, &c, &y, &x);
  return ((size_t)c * (size_t)port->shape.h + (size_t)y) * (size_t)port->shape.w + (size_t)x;
}

size_t test_outputs_floats(const struct mafat_network *n)
{
  size_t floats = 0;
  for (int t = 0; t < mafat_network_n_tensors(n); t++)
    if (!mafat_network_is_input(n, t) && mafat_network_is_output(n, n->n_layers, t))
      floats += (size_t)mafat_shape_elements(mafat_network_tensor_shape(n, t));
  return floats;
}

void test_read_outputs(const struct mafat_executor *e, const struct mafat_network *n, float *to)
{
  for (int t = 0; t < mafat_network_n_tensors(n); t++) {
    struct mafat_shape s = mafat_network_tensor_shape(n, t);
    struct mafat_source self;
    struct mafat_sources all = mafat_network_output_sources(n, t, &self);
    struct mafat_view view;
    if (mafat_network_is_input(n, t) || !mafat_network_is_output(n, n->n_layers, t)) continue;
    mafat_view_planes(&view, s);
    mafat_executor_read_view(e, &all, &view, 0, mafat_shape_elements(s), to);
    to += mafat_shape_elements(s);
  }
}

float test_output_at(const struct mafat_executor *e, const struct mafat_port *port, long long index)
{
  const struct mafat_operand o = {.sources = port->sources, .shape = port->shape};
  int c, y, x;
  mafat_port_find(port, index, &c, &y, &x);
  const struct mafat_source *s = test_source_at(&o, &c, &y);
  return mafat_executor_output_at(e, s->tensor, c, y, x);
}

#define TOLERANCE 2e-5

static void run(const struct mafat_plan *plan, const struct mafat_layout *layout,
                const struct mafat_network *n, struct mafat_weights *w,
                const struct mafat_kernels *kernels, const float *input, float *output)
{
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  mafat_executor_defaults(&options);
  if (kernels) options.kernels = kernels;
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, NULL), MAFAT_OK);
  mafat_executor_set_input(e, input);
  ck_assert_int_eq(mafat_executor_run(e, NULL), MAFAT_OK);
  mafat_executor_read_output(e, n->n_layers - 1, output);
  mafat_executor_close(&e);
}

static void compare(const struct mafat_network *n, const char *plan_text, const char *level,
                    const float *found, const struct test_meaning *meaning)
{
  struct mafat_shape s = n->layers[n->n_layers - 1].out;
  for (int c = 0; c < s.c; c++)
    for (int y = 0; y < s.h; y++)
      for (int x = 0; x < s.w; x++, found++) {
        double exact = meaning->output(meaning->problem, c, y, x);
        ck_assert_msg(fabs((double)*found - exact) <= TOLERANCE * fmax(1, fabs(exact)),
                      "case %d, %s, plan %s: output (%d, %d, %d) is %.9g, exactly %.9g",
                      meaning->number, level, plan_text, c, y, x, (double)*found, exact);
      }
}

void test_compare_plan(const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_network *n, struct mafat_weights *w, const float *input,
                       const struct test_meaning *meaning)
{
  char text[256];
  float *map = malloc((size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof *map);
  test_plan_write(plan, n, text, sizeof text);
  run(plan, layout, n, w, NULL, input, map);
  compare(n, text, "best", map, meaning);
  free(map);
}

void test_compare(const struct mafat_network *n, struct mafat_weights *w, const char *plan_text,
                  const struct mafat_kernels *kernels, const float *input,
                  const struct test_meaning *meaning)
{
  float *map = malloc((size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof *map);
  struct mafat_plan *plan = test_plan(n, plan_text);
  struct mafat_layout *layout = test_layout(n, plan);
  run(plan, layout, n, w, kernels, input, map);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  compare(n, plan_text, kernels->name, map, meaning);
  free(map);
}
