/* Covers network/kinds/reduce.c, runner/engine/kinds/{normalize, reduce}.c: normalization of the
 * channels of each pixel, and reductions of any axes, compared with results in double precision. */
#include "tests/support/problem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

Suite *normalize_suite(void);

/* ---- normalize ---- */

/* Statistics of all channels of one pixel. */
struct pixel {
  double sum, magnitudes, squares, largest, exponentials;
  int n, at;
};

static struct pixel pixel_at(const struct test_problem *p, int y, int x)
{
  struct pixel a = {.n = p->layer->in.c, .largest = -INFINITY};
  for (int c = 0; c < a.n; c++) {
    double v = test_problem_at(p, 0, c, y, x);
    a.sum += v;
    a.magnitudes += fabs(v);
    a.squares += v * v;
    if (v > a.largest) a.largest = v, a.at = c;
  }
  for (int c = 0; c < a.n; c++) a.exponentials += exp(test_problem_at(p, 0, c, y, x) - a.largest);
  return a;
}

static double variance(const struct test_problem *p, double mean, int y, int x)
{
  double sum = 0;
  for (int c = 0; c < p->layer->in.c; c++) sum += pow(test_problem_at(p, 0, c, y, x) - mean, 2);
  return sum / p->layer->in.c;
}

static double normalized(const void *problem, int c, int y, int x)
{
  const struct test_problem *p = problem;
  double v = test_problem_at(p, 0, c, y, x), epsilon = (double)p->layer->normalize->epsilon;
  struct pixel a = pixel_at(p, y, x);
  switch (p->layer->normalize->how) {
  case MAFAT_NORMALIZE_SOFTMAX: return exp(v - a.largest) / a.exponentials;
  case MAFAT_NORMALIZE_LOG_SOFTMAX: return v - a.largest - log(a.exponentials);
  case MAFAT_NORMALIZE_HARDMAX: return c == a.at;
  case MAFAT_NORMALIZE_LAYER:
    return (v - a.sum / a.n) / sqrt(variance(p, a.sum / a.n, y, x) + epsilon);
  case MAFAT_NORMALIZE_RMS: return v / sqrt(a.squares / a.n + epsilon);
  case MAFAT_NORMALIZE_L1: return v == 0 ? 0 : v / fmax(a.magnitudes, epsilon);
  case MAFAT_NORMALIZE_L2: return v == 0 ? 0 : v / fmax(sqrt(a.squares), epsilon);
  default: return NAN;
  }
}

static struct mafat_shape random_shape(struct test_rng *rng)
{
  int most = test_random_chance(rng, 10) ? 300 : 50;
  return (struct mafat_shape){test_random_int(rng, 1, 6), test_random_int(rng, 1, 40),
                              test_random_int(rng, 1, most)};
}

START_TEST(outputs_are_normalized)
{
  struct test_rng rng = test_rng(71000 + (uint64_t)_i);
  for (int how = 0; how < MAFAT_N_NORMALIZATIONS; how++) {
    struct test_problem p;
    struct mafat_shape shape = random_shape(&rng);
    test_problem_open(&p, &rng, MAFAT_NORMALIZE, shape, shape);
    test_problem_add(&p, &rng, shape);
    p.layer->normalize = malloc(sizeof *p.layer->normalize);
    *p.layer->normalize = (struct mafat_normalize){(enum mafat_normalize_how)how,
                                                   test_random_chance(&rng, 50) ? 1e-3f : .5f, 0};
    test_problem_infer(&p);
    test_problem_check(&p, &(struct test_meaning){normalized, &p, how});
    test_problem_close(&p);
  }
}
END_TEST

/* Exponentials of large values neither overflow nor become 0. */
START_TEST(large_values_are_normalized)
{
  struct test_rng rng = test_rng(71900 + (uint64_t)_i);
  struct test_problem p;
  struct mafat_shape shape = random_shape(&rng), s;
  test_problem_open(&p, &rng, MAFAT_NORMALIZE, shape, shape);
  test_problem_add(&p, &rng, shape);
  s = mafat_network_picture_shape(p.network);
  for (int i = 0; i < mafat_shape_elements(s); i++) p.input[i] = roundf(p.input[i] * 64) * 128;
  p.layer->normalize = malloc(sizeof *p.layer->normalize);
  *p.layer->normalize = (struct mafat_normalize){(enum mafat_normalize_how)(_i % 2), 0, 0};
  test_problem_infer(&p);
  test_problem_check(&p, &(struct test_meaning){normalized, &p, _i});
  test_problem_close(&p);
}
END_TEST

/* ---- reduce ---- */

/* Statistics of the input values from which one output is computed, updated value by value. */
struct values {
  double sum, magnitudes, product, squares, largest, smallest, exponentials;
  int n, at_largest, at_smallest;
};

static void add_value(struct values *a, double v, bool last)
{
  a->sum += v;
  a->magnitudes += fabs(v);
  a->product *= v;
  a->squares += v * v;
  a->exponentials += exp(v);
  if (v > a->largest || (last && v >= a->largest)) a->largest = v, a->at_largest = a->n;
  if (v < a->smallest || (last && v <= a->smallest)) a->smallest = v, a->at_smallest = a->n;
  a->n++;
}

static struct values values_of(const struct test_problem *p, int c, int y, int x)
{
  const struct mafat_reduce *r = p->layer->reduce;
  struct mafat_shape in = p->layer->in;
  struct values a = {.product = 1, .largest = -INFINITY, .smallest = INFINITY};
  for (int j = r->rows ? 0 : y; j < (r->rows ? in.h : y + 1); j++)
    for (int i = r->cols ? 0 : x; i < (r->cols ? in.w : x + 1); i++)
      for (int k = r->channels ? 0 : c; k < (r->channels ? in.c : c + 1); k++)
        add_value(&a, test_problem_at(p, 0, k, j, i), r->last);
  return a;
}

static double reduced(const void *problem, int c, int y, int x)
{
  const struct test_problem *p = problem;
  struct values a = values_of(p, c, y, x);
  switch (p->layer->reduce->how) {
  case MAFAT_REDUCE_SUM: return a.sum;
  case MAFAT_REDUCE_MEAN: return a.sum / a.n;
  case MAFAT_REDUCE_PRODUCT: return a.product;
  case MAFAT_REDUCE_MAX: return a.largest;
  case MAFAT_REDUCE_MIN: return a.smallest;
  case MAFAT_REDUCE_L1: return a.magnitudes;
  case MAFAT_REDUCE_L2: return sqrt(a.squares);
  case MAFAT_REDUCE_SUM_OF_SQUARES: return a.squares;
  case MAFAT_REDUCE_LOG_SUM: return log(a.sum);
  case MAFAT_REDUCE_LOG_SUM_EXP: return log(a.exponentials);
  case MAFAT_REDUCE_ARG_MAX: return a.at_largest;
  case MAFAT_REDUCE_ARG_MIN: return a.at_smallest;
  default: return NAN;
  }
}

/* Rounds the input to few different values, so that the largest value occurs several times.
 * positive: makes all values greater than 0 instead. */
static void coarsen(struct test_problem *p, bool positive)
{
  struct mafat_shape s = mafat_network_picture_shape(p->network);
  for (int i = 0; i < mafat_shape_elements(s); i++)
    p->input[i] = positive ? fabsf(p->input[i]) + .125f : roundf(p->input[i] * 4) / 4;
}

static void check_reduction(struct test_rng *rng, enum mafat_reduction how)
{
  struct test_problem p;
  bool place = how == MAFAT_REDUCE_ARG_MAX || how == MAFAT_REDUCE_ARG_MIN;
  int axes = place ? 1 << test_random_int(rng, 0, 2) : test_random_int(rng, 1, 7);
  struct mafat_shape shape = random_shape(rng);
  test_problem_open(&p, rng, MAFAT_REDUCE, shape, shape);
  test_problem_add(&p, rng, shape);
  if (place || how == MAFAT_REDUCE_LOG_SUM) coarsen(&p, !place);
  p.layer->reduce = malloc(sizeof *p.layer->reduce);
  *p.layer->reduce =
      (struct mafat_reduce){how, axes & 1, axes & 2, axes & 4, test_random_chance(rng, 50)};
  test_problem_infer(&p);
  test_problem_check(&p, &(struct test_meaning){reduced, &p, how});
  test_problem_close(&p);
}

START_TEST(outputs_are_reduced)
{
  struct test_rng rng = test_rng(72000 + (uint64_t)_i);
  for (int how = 0; how < MAFAT_N_REDUCTIONS; how++)
    check_reduction(&rng, (enum mafat_reduction)how);
}
END_TEST

/* A reduction without an axis, and an index of the largest value over several axes, are refused. */
START_TEST(axes_are_checked)
{
  struct test_rng rng = test_rng(1);
  struct test_problem p;
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, 6, "reduce", &d};
  struct mafat_shape shape = {3, 4, 5};
  test_problem_open(&p, &rng, MAFAT_REDUCE, shape, shape);
  test_problem_add(&p, &rng, shape);
  p.layer->reduce = calloc(1, sizeof *p.layer->reduce);
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  ck_assert_str_eq(d.text, "test.cfg:1: layer [reduce] expects an axis to reduce");
  *p.layer->reduce = (struct mafat_reduce){MAFAT_REDUCE_ARG_MAX, true, false, true, false};
  ck_assert_int_eq(mafat_layer_infer(p.layer, &context), MAFAT_EFORMAT);
  test_problem_close(&p);
}
END_TEST

Suite *normalize_suite(void)
{
  Suite *s = suite_create("normalize");
  TCase *normalize = tcase_create("normalize"), *reduce = tcase_create("reduce");
  tcase_set_timeout(normalize, 60);
  tcase_add_loop_test(normalize, outputs_are_normalized, 0, test_seeds(20));
  tcase_add_loop_test(normalize, large_values_are_normalized, 0, 4);
  suite_add_tcase(s, normalize);
  tcase_set_timeout(reduce, 60);
  tcase_add_loop_test(reduce, outputs_are_reduced, 0, test_seeds(20));
  tcase_add_test(reduce, axes_are_checked);
  suite_add_tcase(s, reduce);
  return s;
}
