/* Covers {network, predictor, runner/engine}/kinds/matmul.c: products of two maps, compared with
 * sums in double precision. */
#include "tests/support/problem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

Suite *matmul_suite(void);

static double product(const void *problem, int c, int y, int x)
{
  const struct test_problem *p = problem;
  const struct mafat_layer *l = p->layer;
  int first_y = l->operands[0].shape.h == 1 ? 0 : y, second_y = l->operands[1].shape.h == 1 ? 0 : y;
  double sum = 0;
  for (int k = 0; k < l->in.c; k++) {
    double second = l->transposed ? test_problem_at(p, 1, k, second_y, c)
                                  : test_problem_at(p, 1, c, second_y, k);
    sum += test_problem_at(p, 0, k, first_y, x) * second;
  }
  sum *= (double)l->alpha;
  return l->activation.kind == MAFAT_RELU ? fmax(sum, 0) : sum;
}

static void check_product(struct test_rng *rng, int most, int number)
{
  struct test_problem p;
  bool transposed = test_random_chance(rng, 50);
  int rows = test_random_int(rng, 1, 4), k = test_random_int(rng, 1, most),
      n = test_random_int(rng, 1, 70);
  int single = test_random_int(rng, 0, 4);
  struct mafat_shape a = {single == 0 ? 1 : rows, test_random_int(rng, 1, 150), k};
  struct mafat_shape b = {single == 1 ? 1 : rows, transposed ? n : k, transposed ? k : n};
  test_problem_open(&p, rng, MAFAT_MATMUL, a, b);
  test_problem_add(&p, rng, a);
  test_problem_add(&p, rng, b);
  p.tolerance = 2e-5;
  p.layer->transposed = transposed;
  p.layer->alpha = test_random_chance(rng, 50) ? 1 : .125f;
  p.layer->activation.kind = test_random_chance(rng, 70) ? MAFAT_LINEAR : MAFAT_RELU;
  test_problem_infer(&p);
  test_problem_check(&p, &(struct test_meaning){product, &p, number});
  test_problem_close(&p);
}

START_TEST(outputs_are_products)
{
  struct test_rng rng = test_rng(73000 + (uint64_t)_i);
  for (int i = 0; i < 6; i++) check_product(&rng, 60, i);
}
END_TEST

/* There are more channels than a kernel sums in one call. */
START_TEST(long_sums_are_continued)
{
  struct test_rng rng = test_rng(73900 + (uint64_t)_i);
  check_product(&rng, 700, _i);
}
END_TEST

START_TEST(shapes_are_checked)
{
  struct test_rng rng = test_rng(1);
  struct test_problem p;
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, 6, "matmul", &d};
  struct mafat_shape a = {3, 4, 5}, b = {3, 5, 6};
  test_problem_open(&p, &rng, MAFAT_MATMUL, a, b);
  test_problem_add(&p, &rng, a);
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  ck_assert_str_eq(d.text, "test.cfg:1: layer [matmul] expects two operands");
  test_problem_add(&p, &rng, b);
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_OK);
  p.layer->transposed = true;
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  ck_assert_str_eq(d.text, "test.cfg:1: matmul cannot multiply 3 x 4 x 5 by 3 x 5 x 6 transposed "
                           "(height, width, channels)");
  p.layer->transposed = false;
  p.layer->operands[1].shape.h = 2;
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  test_problem_close(&p);
}
END_TEST

Suite *matmul_suite(void)
{
  Suite *s = suite_create("matmul");
  TCase *t = tcase_create("matmul");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, outputs_are_products, 0, test_seeds(30));
  tcase_add_loop_test(t, long_sums_are_continued, 0, test_seeds(10));
  tcase_add_test(t, shapes_are_checked);
  suite_add_tcase(s, t);
  return s;
}
