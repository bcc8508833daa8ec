/* Covers runner/engine/kinds/integer/matmul.c: products of two maps of integers are exactly those
 * that ONNX defines. An exact sum is multiplied by a float and rounded to the nearest integer; of
 * two equally near integers, to the even one. */
#include "formats/onnx/import.h"
#include "runner/engine/executor.h"
#include "tests/support/network_files.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *integer_matmul_suite(void);

static struct mafat_diagnostic diagnostic;

/* n products of a matrix A (rows x inputs) and a matrix B (inputs x filters). Both are slices of
 * one input map: the rows of B follow those of A, and the columns of A and B are the map's channels
 * from first[0] and first[1] on. */
struct problem {
  int n, rows, inputs, filters, first[2], channels;
  bool transposed; /* B is stored transposed; inputs equal filters */
  bool is_single;  /* all A are multiplied by the same B */
  double scale[3], zero[3]; /* of A, B and the product */
  float *input;    /* [n][rows + inputs][channels] */
};

static void draw(struct problem *p, struct test_rng *rng, int most)
{
  static const double scales[] = {.0078125, .05, .011, .25};
  *p = (struct problem){.n = test_random_int(rng, 1, 3),
                        .rows = test_random_int(rng, 1, 80),
                        .inputs = test_random_int(rng, 1, most),
                        .filters = test_random_int(rng, 1, 70),
                        .transposed = test_random_chance(rng, 50),
                        .is_single = test_random_chance(rng, 30)};
  if (p->transposed) p->filters = p->inputs;
  for (int k = 0; k < 2; k++) {
    p->first[k] = test_random_int(rng, 0, 9);
    p->scale[k] = scales[test_random_int(rng, 0, 3)];
    p->zero[k] = test_random_chance(rng, 20) ? (test_random_chance(rng, 50) ? 255 : 0)
                                             : test_random_int(rng, 0, 255);
  }
  p->scale[2] = p->scale[0] * p->scale[1] * sqrt(p->inputs) * test_random_int(rng, 20, 90);
  p->zero[2] = test_random_int(rng, 0, 255);
  int ends[2] = {p->first[0] + p->inputs, p->first[1] + p->filters};
  p->channels = (ends[0] > ends[1] ? ends[0] : ends[1]) + test_random_int(rng, 0, 3);
  size_t count = (size_t)p->n * (size_t)(p->rows + p->inputs) * (size_t)p->channels;
  p->input = malloc(count * sizeof *p->input);
  for (size_t k = 0; k < count; k++) p->input[k] = (float)test_random_int(rng, -3000, 3000) * .001f;
}

/* ---- the problem as a model ---- */

static void add_slice(struct test_message *graph, const char *from, const char *to,
                      const int64_t *starts, const int64_t *ends)
{
  static const int64_t axes[] = {1, 2, 3};
  char names[3][16], inputs[80];
  const int64_t *lists[] = {starts, ends, axes};
  for (int k = 0; k < 3; k++) {
    snprintf(names[k], sizeof names[k], "%s%d", to, k);
    test_onnx_int64s(graph, names[k], 3, lists[k]);
  }
  snprintf(inputs, sizeof inputs, "%s %s %s %s", from, names[0], names[1], names[2]);
  test_onnx_add(graph, "Slice", inputs, to, "");
}

static void add_zero(struct test_message *graph, const char *name, double zero)
{
  test_onnx_initializer(graph,
                        &(struct test_onnx_tensor){
                            .name = name, .type = MAFAT_ONNX_UINT8, .rank = 0, .values = &zero});
}

static struct test_imported import(const struct problem *p)
{
  const int64_t dims[] = {1, p->n, p->rows + p->inputs, p->channels};
  const int64_t a[] = {0, 0, p->first[0]}, a_end[] = {p->n, p->rows, p->first[0] + p->inputs};
  const int64_t b[] = {0, p->rows, p->first[1]},
                b_end[] = {p->is_single ? 1 : p->n, p->rows + p->inputs, p->first[1] + p->filters};
  static const char *const scales[] = {"sa", "sb", "sy"}, *const zeros[] = {"za", "zb", "zy"};
  struct test_message graph = {0};
  for (int k = 0; k < 3; k++) {
    test_onnx_floats(&graph, scales[k], 0, NULL, &p->scale[k]);
    add_zero(&graph, zeros[k], p->zero[k]);
  }
  test_onnx_add(&graph, "QuantizeLinear", "x sa za", "xa", "");
  test_onnx_add(&graph, "QuantizeLinear", "x sb zb", "xb", "");
  add_slice(&graph, "xa", "a", a, a_end);
  add_slice(&graph, "xb", "b", b, b_end);
  test_onnx_add(&graph, "QLinearMatMul", "a sa za b sb zb sy zy", "q", "");
  test_onnx_add(&graph, "DequantizeLinear", "q sy zy", "y", "");
  test_onnx_input(&graph, "x", 4, dims);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_message model = test_onnx_model(&graph, 17);
  struct test_imported m = test_import(test_onnx_network_read, model.data, model.n, &diagnostic);
  free(model.data);
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  return m;
}

static struct mafat_layer *find_product(const struct mafat_network *n)
{
  for (int l = 0; l < n->n_layers; l++)
    if (n->layers[l].type == MAFAT_MATMUL) return &n->layers[l];
  return NULL;
}

/* ---- the expected product ---- */

static int number(const struct problem *p, int which, int matrix, int row, int channel)
{
  float x = p->input[((size_t)matrix * (size_t)(p->rows + p->inputs) + (size_t)row) *
                         (size_t)p->channels +
                     (size_t)(p->first[which] + channel)];
  double q = nearbyintf(x / (float)p->scale[which]) + p->zero[which];
  return (int)fmin(fmax(q, 0), 255) - (int)p->zero[which];
}

static float expected_output(const struct problem *p, int matrix, int row, int filter)
{
  int64_t sum = 0;
  for (int k = 0; k < p->inputs; k++) {
    int inner = p->rows + (p->transposed ? filter : k), channel = p->transposed ? k : filter;
    sum += (int64_t)number(p, 0, matrix, row, k) *
           number(p, 1, p->is_single ? 0 : matrix, inner, channel);
  }
  float factor = (float)p->scale[0] * (float)p->scale[1] / (float)p->scale[2];
  double q = nearbyintf((float)sum * factor) + p->zero[2];
  return ((float)fmin(fmax(q, 0), 255) - (float)p->zero[2]) * (float)p->scale[2];
}

static void compare(const struct problem *p, const struct mafat_network *n,
                    struct mafat_executor *e, const char *plan_text)
{
  int tensor = n->outputs->sources.list->tensor;
  for (int i = 0; i < p->n; i++)
    for (int y = 0; y < p->rows; y++)
      for (int f = 0; f < p->filters; f++) {
        float found = mafat_executor_output_at(e, tensor, f, i, y),
              expected = expected_output(p, i, y, f);
        ck_assert_msg(found == expected,
                      "%s: %d matrices of %d x %d by %d%s: at %d, %d, %d: expected %g, found %g",
                      plan_text, p->n, p->rows, p->inputs, p->filters,
                      p->transposed ? " transposed" : "", i, y, f, (double)expected, (double)found);
      }
}

static void check_plan(const struct problem *p, const struct test_imported *m,
                       const char *plan_text, int threads, const struct mafat_kernels *level)
{
  const struct mafat_network *n = m->network;
  struct mafat_executor_options options;
  struct mafat_plan_options plan_options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *w = NULL;
  mafat_plan_defaults(&plan_options);
  plan_options.n_threads = threads;
  ck_assert_int_eq(mafat_weights_open_kept(&w, m->path, n, n->n_layers, NULL, &diagnostic),
                   MAFAT_OK);
  struct mafat_plan *plan = test_plan_with(n, plan_text, &plan_options);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&options);
  options.kernels = level;
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, &diagnostic), MAFAT_OK);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
  mafat_executor_set_input(e, p->input);
  ck_assert_int_eq(mafat_executor_run(e, &diagnostic), MAFAT_OK);
  compare(p, n, e, plan_text);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
}

static void check_problem(uint64_t seed, int most)
{
  enum { MOST_LEVELS = 8 };
  static const char *const plans[] = {"1x1/NoCut", "rows1/NoCut", "panels/NoCut"};
  const struct mafat_kernels *levels[MOST_LEVELS];
  int n_levels = mafat_kernels_list(levels, MOST_LEVELS);
  struct test_rng rng = test_rng(seed);
  struct problem p;
  draw(&p, &rng, most);
  struct test_imported m = import(&p);
  struct mafat_layer *product = find_product(m.network);
  ck_assert(product && product->out_type == MAFAT_U8);
  product->transposed = p.transposed;
  for (int i = 0; i < (int)(sizeof plans / sizeof *plans) * n_levels; i++)
    check_plan(&p, &m, plans[i % 3], 1 + i % 4, levels[i / 3]);
  free(p.input);
  test_imported_close(&m);
}

START_TEST(outputs_are_rounded_sums)
{
  check_problem(77000 + (uint64_t)_i, 60);
}
END_TEST

/* There are more inputs than a float kernel sums in one call. */
START_TEST(long_sums_are_exact)
{
  check_problem(77900 + (uint64_t)_i, 400);
}
END_TEST

Suite *integer_matmul_suite(void)
{
  Suite *s = suite_create("integer_matmul");
  TCase *t = tcase_create("integer_matmul");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, outputs_are_rounded_sums, 0, test_seeds(60));
  tcase_add_loop_test(t, long_sums_are_exact, 0, test_seeds(10));
  suite_add_tcase(s, t);
  return s;
}
