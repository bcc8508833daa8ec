/* Covers {network, predictor, runner/engine}/kinds/topk.c: the largest (or smallest) elements along
 * an axis and their positions, compared with counting for each element how many are better. */
#include "network/rearrange.h"
#include "tests/support/problem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

Suite *topk_suite(void);

static double element(const struct test_problem *p, int i, const int at[MAFAT_N_AXES])
{
  int here[MAFAT_N_AXES] = {at[0], at[1], at[2]};
  here[p->layer->topk.axis] = i;
  return test_problem_at(p, 0, here[MAFAT_AXIS_C], here[MAFAT_AXIS_H], here[MAFAT_AXIS_W]);
}

static bool is_better(const struct test_problem *p, double a, int i, double b, int k)
{
  if (a == b) return i < k;
  return p->layer->topk.smallest ? a < b : a > b;
}

/* For output k along the axis: the position of the element that has exactly k better ones. */
static int place_of(const struct test_problem *p, int c, int y, int x)
{
  const int at[MAFAT_N_AXES] = {[MAFAT_AXIS_H] = y, [MAFAT_AXIS_W] = x, [MAFAT_AXIS_C] = c};
  const int extents[MAFAT_N_AXES] = {p->layer->in.h, p->layer->in.w, p->layer->in.c};
  int n = extents[p->layer->topk.axis];
  for (int i = 0; i < n; i++) {
    int better = 0;
    for (int k = 0; k < n; k++)
      better += k != i && is_better(p, element(p, k, at), k, element(p, i, at), i);
    if (better == at[p->layer->topk.axis]) return i;
  }
  return -1;
}

static double best(const void *problem, int c, int y, int x)
{
  const struct test_problem *p = problem;
  const int at[MAFAT_N_AXES] = {[MAFAT_AXIS_H] = y, [MAFAT_AXIS_W] = x, [MAFAT_AXIS_C] = c};
  return element(p, place_of(p, c, y, x), at);
}

static double place(const void *problem, int c, int y, int x)
{
  return place_of(problem, c, y, x);
}

START_TEST(outputs_are_the_best_and_their_positions)
{
  struct test_rng rng = test_rng(81000 + (uint64_t)_i);
  struct test_problem p;
  struct mafat_shape s = {test_random_int(&rng, 1, 9), test_random_int(&rng, 1, 12),
                          test_random_int(&rng, 1, 40)};
  const int extents[MAFAT_N_AXES] = {s.h, s.w, s.c};
  int axis = _i % MAFAT_N_AXES,
      k = test_random_chance(&rng, 30) ? extents[axis] : test_random_int(&rng, 1, extents[axis]);
  test_problem_open(&p, &rng, MAFAT_TOPK, s, s);
  test_problem_add(&p, &rng, s);
  struct mafat_shape picture = mafat_network_picture_shape(p.network);
  for (int i = 0; _i % 2 && i < mafat_shape_elements(picture); i++)
    p.input[i] = roundf(p.input[i] * 3); /* so that some are equal */
  p.layer->topk = (struct mafat_topk){
      .k = k, .axis = (signed char)axis, .smallest = test_random_chance(&rng, 50)};
  p.tolerance = 0;
  for (p.output = 0; p.output < 2; p.output++) {
    test_problem_infer(&p);
    test_problem_check(&p, &(struct test_meaning){p.output ? place : best, &p, _i});
  }
  test_problem_close(&p);
}
END_TEST

START_TEST(shapes_are_checked)
{
  struct test_rng rng = test_rng(1);
  struct test_problem p;
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, 6, "topk", &d};
  test_problem_open(&p, &rng, MAFAT_TOPK, (struct mafat_shape){3, 4, 2},
                    (struct mafat_shape){3, 4, 2});
  test_problem_add(&p, &rng, (struct mafat_shape){3, 4, 2});
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) {
    p.layer->topk = (struct mafat_topk){.k = 5, .axis = (signed char)axis};
    ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EUNSUPPORTED);
    p.layer->topk.k = 0;
    ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EUNSUPPORTED);
  }
  ck_assert_str_eq(d.text, "test.cfg:1: topk expects 1 to 2 elements, found 0");
  test_problem_close(&p);
}
END_TEST

Suite *topk_suite(void)
{
  Suite *s = suite_create("topk");
  TCase *t = tcase_create("topk");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, outputs_are_the_best_and_their_positions, 0, test_seeds(60));
  tcase_add_test(t, shapes_are_checked);
  suite_add_tcase(s, t);
  return s;
}
