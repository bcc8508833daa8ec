/* Covers runner/kernels/functions.c: the activations that all kernel levels share. They differ from
 * the exact function by at most 1e-6, give the same bits in arrays of any length, and are right for
 * infinities and NaN. */
#include "runner/kernels/functions.h"
#include "tests/kernels/kernel_exact.h"
#include "tests/support/support.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

Suite *functions_suite(void);

static float random_float(struct test_rng *rng)
{
  return (float)(test_random(rng) >> 8) / 8388608.0f - 1;
}

static struct mafat_activating random_function(struct test_rng *rng, int kind)
{
  float p = random_float(rng);
  return mafat_exact_activating((enum mafat_activation)kind, p, random_float(rng));
}

static float value_of(float x, struct mafat_activating f)
{
  mafat_functions_activate(&x, 1, f);
  return x;
}

/* The allowed error of f(x). For gelu by tanh and for swish, the exponent of e is a product, whose
 * rounding adds to the error; for some functions, a sum cancels most of the result. */
static double tolerance_of(double x, double want, const struct mafat_activating *f)
{
  double relative = 1e-6, exponent = 0;
  if (f->kind == MAFAT_GELU_TANH) exponent = fabs(1.6 * (x + .044715 * x * x * x));
  if (f->kind == MAFAT_SCALED_SWISH) exponent = fabs((double)f->a * x);
  if (f->kind == MAFAT_CELU) exponent = fmin(fabs(x / (double)f->a), 1);
  double terms = f->kind == MAFAT_AFFINE ? fabs((double)f->a * x) + fabs((double)f->b) : fabs(want);
  return terms * (relative + 2.5e-7 * exponent) +
         fmax(1, fabs(x)) * (double)FLT_MIN; /* results below FLT_MIN may be rounded to 0 */
}

static void check_at(float x, const struct mafat_activating *f)
{
  double want = mafat_exact_activation((double)x, f);
  float found = value_of(x, *f);
  bool same = isnan(want) ? isnan(found)
              : fabs(want) > (double)FLT_MAX
                  ? isinf(found) && (found > 0) == (want > 0)
                  : fabs(want - (double)found) <= tolerance_of((double)x, want, f);
  ck_assert_msg(same, "%s(%.9g), a %g, b %g: expected %.9g, found %.9g",
                mafat_activation_name(f->kind), (double)x, (double)f->a, (double)f->b, want,
                (double)found);
}

START_TEST(functions_are_near_the_exact_ones)
{
  struct test_rng rng = test_rng(61000 + (uint64_t)_i);
  for (int round = 0; round < 4; round++) {
    struct mafat_activating f = random_function(&rng, _i);
    for (float x = -120; x < 120; x += 0.0137f) check_at(x, &f);
    for (int i = -40; i < 4; i++) {
      check_at(ldexpf(1 + random_float(&rng) / 2, i), &f);
      check_at(-ldexpf(1 + random_float(&rng) / 2, i), &f);
    }
    for (float x = -8; x <= 8; x += .5f) check_at(x, &f);
  }
}
END_TEST

START_TEST(arrays_give_the_same_as_single_elements)
{
  struct test_rng rng = test_rng(62000 + (uint64_t)_i);
  struct mafat_activating f = random_function(&rng, _i);
  for (int n = 1; n < 70; n++) {
    float x[70], y[70];
    for (int i = 0; i < n; i++) y[i] = x[i] = 20 * random_float(&rng);
    mafat_functions_activate(y, (size_t)n, f);
    for (int i = 0; i < n; i++) {
      float alone = value_of(x[i], f);
      ck_assert_msg(memcmp(&alone, &y[i], sizeof alone) == 0, "%s of %g",
                    mafat_activation_name(f.kind), (double)x[i]);
    }
  }
}
END_TEST

START_TEST(extreme_inputs_are_right)
{
  struct test_rng rng = test_rng(63000 + (uint64_t)_i);
  struct mafat_activating f = random_function(&rng, _i);
  static const float extremes[] = {0,       -0.0f, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-42f,
                                   -1e-42f, 200,   -200,    1e10f,    -1e10f};
  for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
    double want = mafat_exact_activation((double)extremes[i], &f);
    float found = value_of(extremes[i], f);
    ck_assert_msg(isnan(want) == isnan(found), "%s(%g): expected %g, found %g",
                  mafat_activation_name(f.kind), (double)extremes[i], want, (double)found);
  }
  value_of(NAN, f);
  value_of(INFINITY, f);
  value_of(-INFINITY, f);
}
END_TEST

START_TEST(nan_gives_nan)
{
  static const enum mafat_activation kinds[] = {
      MAFAT_SOFTSIGN, MAFAT_GELU, MAFAT_GELU_TANH, MAFAT_SCALED_SWISH, MAFAT_EXACT_TANH,
      MAFAT_ERF,      MAFAT_ABS,  MAFAT_EXP,       MAFAT_LOG,          MAFAT_SQRT,
      MAFAT_SIN,      MAFAT_CEIL, MAFAT_FLOOR,     MAFAT_ROUND,        MAFAT_SIGN};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    ck_assert_msg(isnan(value_of(NAN, (struct mafat_activating){kinds[i], 1, 1})), "%s",
                  mafat_activation_name(kinds[i]));
  ck_assert(isinf(value_of(INFINITY, mafat_activating(MAFAT_EXP))) &&
            value_of(-INFINITY, mafat_activating(MAFAT_EXP)) == 0);
  ck_assert(value_of(-INFINITY, mafat_activating(MAFAT_ERF)) == -1 &&
            value_of(INFINITY, mafat_activating(MAFAT_EXACT_TANH)) == 1);
}
END_TEST

Suite *functions_suite(void)
{
  Suite *s = suite_create("functions");
  TCase *t = tcase_create("functions");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, functions_are_near_the_exact_ones, MAFAT_N_KERNEL_ACTIVATIONS,
                      MAFAT_N_ACTIVATIONS);
  tcase_add_loop_test(t, arrays_give_the_same_as_single_elements, MAFAT_N_KERNEL_ACTIVATIONS,
                      MAFAT_N_ACTIVATIONS);
  tcase_add_loop_test(t, extreme_inputs_are_right, MAFAT_N_KERNEL_ACTIVATIONS,
                      MAFAT_N_ACTIVATIONS);
  tcase_add_test(t, nan_gives_nan);
  suite_add_tcase(s, t);
  return s;
}
