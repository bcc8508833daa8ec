/* Covers runner/engine/kinds/integer/rearrange.c: bytes are moved as the layer's atoms define
 * (network/rearrange.h), whether tensors are in one buffer or in partition buffers. */
#include "formats/onnx/import.h"
#include "network/rearrange.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *integer_rearrange_suite(void);

static struct mafat_diagnostic diagnostic;

/* A transposition of a tensor's axes, some of which are also reversed. */
struct problem {
  int in[MAFAT_N_AXES];      /* extents of the input */
  int from[MAFAT_N_AXES];    /* [axis of the output]: axis of the input */
  bool reversed[MAFAT_N_AXES]; /* [axis of the output]: true if it is reversed */
  struct test_imported model;
  struct mafat_layer *layer;
  float *input; /* [c][h][w] */
};

/* Imports a model that quantizes its input with a scale of 1, transposes it, and dequantizes it. */
static struct test_imported import(const int *in, const int *from)
{
  const int64_t dims[] = {1, in[MAFAT_AXIS_C], in[MAFAT_AXIS_H], in[MAFAT_AXIS_W]};
  const double one = 1, zero = 0;
  static const int of[] = {2, 3, 1}; /* ONNX dimension of each axis */
  char perm[40];
  struct test_message graph = {0};
  snprintf(perm, sizeof perm, "perm=[0,%d,%d,%d]", of[from[MAFAT_AXIS_C]], of[from[MAFAT_AXIS_H]],
           of[from[MAFAT_AXIS_W]]);
  test_onnx_floats(&graph, "s", 0, NULL, &one);
  test_onnx_initializer(&graph,
                        &(struct test_onnx_tensor){
                            .name = "z", .type = MAFAT_ONNX_UINT8, .rank = 0, .values = &zero});
  test_onnx_add(&graph, "QuantizeLinear", "x s z", "q", "");
  test_onnx_add(&graph, "Transpose", "q", "t", perm);
  test_onnx_add(&graph, "MaxPool", "t", "m",
                "kernel_shape=[3,3] pads=[1,1,1,1]"); /* so that the bytes must really be moved */
  test_onnx_add(&graph, "DequantizeLinear", "m s z", "y", "");
  test_onnx_input(&graph, "x", 4, dims);
  test_onnx_output(&graph, "y", -1, NULL);
  return test_import_onnx(test_onnx_model(&graph, 17), &diagnostic);
}

/* Reverses some axes. */
static void reverse_some_axes(struct problem *p, struct test_rng *rng)
{
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) p->reversed[axis] = test_random_chance(rng, 20);
  struct mafat_part *part = &p->layer->rearrange->parts[0];
  for (int i = 0; i < part->n_atoms; i++) {
    struct mafat_atom *a = &part->atoms[i];
    if (!p->reversed[a->out_axis]) continue;
    ck_assert_int_eq(a->in_step, 1);
    part->in_first[a->in_axis] += a->size - 1;
    a->in_step = -1;
  }
}

/* Returns false if there is no layer to test, because the import found that no element moves. */
static bool open_problem(struct problem *p, struct test_rng *rng)
{
  static const int orders[][MAFAT_N_AXES] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const int *order = orders[test_random_int(rng, 0, 4)];
  *p = (struct problem){.in = {test_random_int(rng, 1, 9), test_random_int(rng, 1, 40),
                               test_random_int(rng, 1, 70)},
                        .from = {order[0], order[1], order[2]}};
  p->model = import(p->in, p->from);
  ck_assert_msg(p->model.code == MAFAT_OK, "%s", diagnostic.text);
  for (int l = 0; l < p->model.network->n_layers; l++)
    if (p->model.network->layers[l].type == MAFAT_REARRANGE)
      p->layer = &p->model.network->layers[l];
  if (!p->layer) return false;
  ck_assert(p->layer->out_type == MAFAT_U8);
  size_t n = (size_t)p->in[0] * (size_t)p->in[1] * (size_t)p->in[2];
  p->input = malloc(n * sizeof *p->input);
  for (size_t i = 0; i < n; i++) p->input[i] = (float)test_random_int(rng, 0, 255);
  reverse_some_axes(p, rng);
  return true;
}

static float expected_at(const struct problem *p, const int *out)
{
  int at[MAFAT_N_AXES];
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) {
    int from = p->from[axis];
    at[from] = p->reversed[axis] ? p->in[from] - 1 - out[axis] : out[axis];
  }
  return p
      ->input[(at[MAFAT_AXIS_C] * p->in[MAFAT_AXIS_H] + at[MAFAT_AXIS_H]) * p->in[MAFAT_AXIS_W] +
              at[MAFAT_AXIS_W]];
}

static void compare(const struct problem *p, const struct mafat_executor *e, const char *text)
{
  struct mafat_shape s = p->layer->out;
  int layer = (int)(p->layer - p->model.network->layers), out[MAFAT_N_AXES];
  float *found = malloc((size_t)mafat_shape_elements(s) * sizeof *found);
  mafat_executor_read_output(e, layer, found);
  for (out[MAFAT_AXIS_C] = 0; out[MAFAT_AXIS_C] < s.c; out[MAFAT_AXIS_C]++)
    for (out[MAFAT_AXIS_H] = 0; out[MAFAT_AXIS_H] < s.h; out[MAFAT_AXIS_H]++)
      for (out[MAFAT_AXIS_W] = 0; out[MAFAT_AXIS_W] < s.w; out[MAFAT_AXIS_W]++) {
        float expected = expected_at(p, out),
              is = found[(out[MAFAT_AXIS_C] * s.h + out[MAFAT_AXIS_H]) * s.w + out[MAFAT_AXIS_W]];
        ck_assert_msg(is >= expected && is <= expected,
                      "%s: at (%d, %d, %d): expected %g, found %g", text, out[MAFAT_AXIS_C],
                      out[MAFAT_AXIS_H], out[MAFAT_AXIS_W], (double)expected, (double)is);
      }
  free(found);
}

/* Runs the network up to the layer with this plan and compares the layer's output. Returns false if
 * the plan is refused. */
static bool check_plan(const struct problem *p, const char *text)
{
  const struct mafat_network *n = p->model.network;
  int n_layers = (int)(p->layer - n->layers) + 1;
  struct mafat_executor_options options;
  struct mafat_plan_options plan_options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *w = NULL;
  struct mafat_layout *layout;
  struct mafat_plan *plan;
  mafat_plan_defaults(&plan_options);
  if (mafat_plan_read(&plan, text, n, n_layers, &plan_options, &diagnostic)) return false;
  ck_assert_int_eq(mafat_layout_make(&layout, n, plan, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_weights_open_kept(&w, p->model.path, n, n_layers, NULL, &diagnostic),
                   MAFAT_OK);
  mafat_executor_defaults(&options);
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, &diagnostic), MAFAT_OK);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
  mafat_executor_set_input(e, p->input);
  ck_assert_int_eq(mafat_executor_run(e, &diagnostic), MAFAT_OK);
  compare(p, e, text);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  return true;
}

/* Bytes are moved correctly without a split, and if the quantizing layer, the moving layer or both
 * are split along random axes. */
START_TEST(bytes_are_moved_as_atoms_say)
{
  enum { TRIES = 12 };
  struct test_rng rng = test_rng(78000 + (uint64_t)_i);
  struct problem p;
  if (open_problem(&p, &rng)) {
    int moved = (int)(p.layer - p.model.network->layers);
    ck_assert(check_plan(&p, "1x1/NoCut"));
    for (int i = 0; i < TRIES; i++) {
      char text[80];
      int from = test_random_int(&rng, 0, moved);
      snprintf(text, sizeof text, "split(%c%d:%d,%c%d:%d)", "hwc"[test_random_int(&rng, 0, 2)],
               test_random_int(&rng, 2, 4), from, "hwc"[test_random_int(&rng, 0, 2)],
               test_random_int(&rng, 2, 4), test_random_chance(&rng, 50) ? from : moved);
      check_plan(&p, text);
    }
  }
  free(p.input);
  test_imported_close(&p.model);
}
END_TEST

Suite *integer_rearrange_suite(void)
{
  Suite *s = suite_create("integer_rearrange");
  TCase *t = tcase_create("integer_rearrange");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, bytes_are_moved_as_atoms_say, 0, test_seeds(120));
  suite_add_tcase(s, t);
  return s;
}
