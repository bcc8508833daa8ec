/* Covers {network, predictor, runner/engine}/kinds/gather.c: the gather layer, which copies columns
 * of a table by index, is compared with a direct computation. */
#include "tests/support/problem.h"
#include "tests/support/work.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

Suite *gather_suite(void);

static double gathered(const void *problem, int c, int y, int x)
{
  const struct test_problem *p = problem;
  int n = p->layer->operands[1].shape.w, number = (int)test_problem_at(p, 0, 0, y, x);
  return test_problem_at(p, 1, c, 0, number < 0 ? number + n : number);
}

START_TEST(outputs_are_chosen_columns)
{
  struct test_rng rng = test_rng(74000 + (uint64_t)_i);
  for (int i = 0; i < 8; i++) {
    struct test_problem p;
    struct mafat_shape numbers = {test_random_int(&rng, 1, 6), test_random_int(&rng, 1, 40), 1};
    struct mafat_shape table = {1, test_random_int(&rng, 1, 60), test_random_int(&rng, 1, 60)};
    test_problem_open(&p, &rng, MAFAT_GATHER, numbers, table);
    test_problem_add(&p, &rng, numbers);
    test_problem_add(&p, &rng, table);
    struct mafat_shape s = mafat_network_picture_shape(p.network);
    for (int k = 0; k < mafat_shape_elements(s); k++) {
      float number = truncf(p.input[k] * (float)table.w);
      p.input[k] = fminf(fmaxf(number, (float)-table.w), (float)table.w - 1);
    }
    p.tolerance = 0;
    test_problem_infer(&p);
    test_problem_check(&p, &(struct test_meaning){gathered, &p, i});
    test_problem_close(&p);
  }
}
END_TEST

START_TEST(outputs_are_counted_as_moved)
{
  struct test_rng rng = test_rng(2);
  struct test_problem p;
  struct mafat_calibration calibration;
  test_problem_open(&p, &rng, MAFAT_GATHER, (struct mafat_shape){3, 4, 1},
                    (struct mafat_shape){1, 5, 6});
  test_problem_add(&p, &rng, (struct mafat_shape){3, 4, 1});
  test_problem_add(&p, &rng, (struct mafat_shape){1, 5, 6});
  test_problem_infer(&p);
  mafat_calibration_defaults(&calibration, "avx512");
  struct mafat_plan *plan = test_plan(p.network, "1x1/NoCut");
  struct mafat_layout *layout = test_layout(p.network, plan);
  struct mafat_work work =
      test_work_of(p.network, plan, layout, &calibration, p.network->n_layers - 1);
  ck_assert_double_eq(work.n[MAFAT_TERM_MOVED], mafat_shape_elements(p.layer->out));
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  test_problem_close(&p);
}
END_TEST

START_TEST(shapes_are_checked)
{
  struct test_rng rng = test_rng(1);
  struct test_problem p;
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, 6, "gather", &d};
  test_problem_open(&p, &rng, MAFAT_GATHER, (struct mafat_shape){3, 4, 2},
                    (struct mafat_shape){1, 5, 6});
  test_problem_add(&p, &rng, (struct mafat_shape){3, 4, 2});
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  test_problem_add(&p, &rng, (struct mafat_shape){1, 5, 6});
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  ck_assert_str_eq(d.text, "test.cfg:1: gather expects indices of one channel and a table of one "
                           "row, found 3 x 4 x 2 and "
                           "1 x 5 x 6 (height, width, channels)");
  test_problem_close(&p);
}
END_TEST

Suite *gather_suite(void)
{
  Suite *s = suite_create("gather");
  TCase *t = tcase_create("gather");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, outputs_are_chosen_columns, 0, test_seeds(20));
  tcase_add_test(t, outputs_are_counted_as_moved);
  tcase_add_test(t, shapes_are_checked);
  suite_add_tcase(s, t);
  return s;
}
