/* Covers network/quantization.c: factors as integer multipliers and shifts, and conversion of real
 * numbers to quantized integers. */
#include <check.h>
#include <math.h>

#include "network/quantization.h"
#include "runner/kernels/requantize.h"

Suite *quantization_suite(void);

/* ---- multipliers ---- */

static const struct {
  double factor;
  int32_t multiplier;
  int shift;
} known[] = {
    {0, 0, 0},
    {1, 1 << 30, 1},
    {0.5, 1 << 30, 0},
    {0.25, 1 << 30, -1},
    {1.5, 1610612736, 1},
    {0.1, 1717986918, -3},
    {1.0 / 3, 1431655765, -1},
    {0.9999999999, 1 << 30, 1},         /* rounds up to 2^31, which does not fit */
    {123456.789, 2022716031, 17},
    {0x1p-31, 1 << 30, -30},
    {0x1p-32, 1 << 30, -31},
    {0x1p-33, 0, 0},                    /* too small: 0 */
    {0x1p29, 1 << 30, 30},
    {0x1.fffffffcp29, INT32_MAX, 30},   /* the largest factor: TFLite shifts by 30 at most */
    {-0.25, -(1 << 30), -1}, /* weights have negative scales */
    {-0.1, -1717986918, -3},
};

START_TEST(multipliers_equal_tflites)
{
  struct mafat_multiplier m = mafat_multiplier(known[_i].factor);
  ck_assert_msg(m.multiplier == known[_i].multiplier && m.shift == known[_i].shift,
                "%.17g: expected %d, %d, found %d, %d", known[_i].factor, known[_i].multiplier,
                known[_i].shift, m.multiplier, m.shift);
  ck_assert(mafat_multiplier_can(known[_i].factor));
}
END_TEST

/* Factors that no multiplier and shift can express are refused. */
START_TEST(impossible_factors_are_refused)
{
  static const double factors[] = {-0x1p30, 0x1p30,           0x1.fffffffffffffp29,
                                   1e300,   (double)INFINITY, (double)NAN};
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
    ck_assert_msg(!mafat_multiplier_can(factors[i]), "%g", factors[i]);
}
END_TEST

/* Scales for which hard swish needs a shift out of range, or a factor that is not a finite float,
 * are refused. */
START_TEST(hard_swish_refuses_scales_too_far_apart)
{
  static const float scales[][2] = {{1e38f, 1e-38f}, {3e38f, 3e38f}, {1, 0x1p-149f}};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    const struct mafat_quantization in = mafat_quantization(scales[i][0], 0),
                                    out = mafat_quantization(scales[i][1], 0);
    ck_assert_msg(!mafat_quantization_can_hard_swish(&in, &out), "%g, %g", (double)scales[i][0],
                  (double)scales[i][1]);
  }
  const struct mafat_quantization usual = mafat_quantization(.03f, 128);
  ck_assert(mafat_quantization_can_hard_swish(&usual, &usual));
}
END_TEST

START_TEST(a_multiplier_approximates_its_factor)
{
  for (double factor = 1e-6; factor < 100; factor *= 1.37)
    for (int32_t x = -50000; x <= 50000; x += 977) {
      double exact = x * factor;
      ck_assert_msg(fabs(mafat_requantize(x, mafat_multiplier(factor)) - exact) <= 1.0, "%d * %g",
                    x, factor);
    }
}
END_TEST

/* Rounding to 31 fractional bits rounds halves up; the shift then rounds halves away from 0. */
START_TEST(halves_are_rounded)
{
  ck_assert_int_eq(mafat_requantize(1, mafat_multiplier(0.5)), 1);
  ck_assert_int_eq(mafat_requantize(-1, mafat_multiplier(0.5)), 0); /* -1/2 is rounded up */
  ck_assert_int_eq(mafat_requantize(-3, mafat_multiplier(0.5)), -1);
  ck_assert_int_eq(mafat_divide_by_power(-2, 2), -1);
  ck_assert_int_eq(mafat_divide_by_power(2, 2), 1);
  ck_assert_int_eq(mafat_divide_by_power(-1, 2), 0);
  ck_assert_int_eq(mafat_divide_by_power(INT32_MIN, 31), -1);
  ck_assert_int_eq(mafat_high_product(INT32_MIN, INT32_MIN), INT32_MAX);
}
END_TEST

/* The product of two scales is rounded to a float if the last argument is true. */
START_TEST(scales_are_multiplied_as_the_operator_does)
{
  float a = 0.1f, b = 0.3f, c = 0.7f;
  ck_assert_double_eq(mafat_quantization_factor(a, b, c, false), (double)a * (double)b / (double)c);
  ck_assert_double_eq(mafat_quantization_factor(a, b, c, true), (double)(float)(a * b) / (double)c);
}
END_TEST

/* ---- numbers ---- */

START_TEST(reals_become_the_nearest_integer)
{
  struct mafat_quantization q = mafat_quantization(0.5f, 128);
  ck_assert_int_eq(mafat_quantization_number(&q, 0), 128);
  ck_assert_int_eq(mafat_quantization_number(&q, 0.25f), 129);
  ck_assert_int_eq(mafat_quantization_number(&q, -0.25f), 127);
  ck_assert_int_eq(mafat_quantization_number(&q, 1e30f), 255);
  ck_assert_int_eq(mafat_quantization_number(&q, -1e30f), 0);
}
END_TEST

/* An activation that only limits values becomes bounds of the quantized integers. */
START_TEST(activations_are_bounds)
{
  struct mafat_quantization q = mafat_quantization(0.05f, 28);
  mafat_quantization_clamp(&q, 0, 6);
  ck_assert_int_eq(q.least, 28);
  ck_assert_int_eq(q.most, 148);
  mafat_quantization_clamp(&q, -1, INFINITY);
  ck_assert_int_eq(q.least, 28);
  ck_assert_int_eq(mafat_put_number(&q, 200), 148);
  ck_assert_int_eq(mafat_put_number(&q, -200), 28);
  ck_assert_int_eq(mafat_put_number(&q, INT32_MAX), 148);
  q = mafat_quantization(1e-30f, 3);
  mafat_quantization_clamp(&q, 0, 6);
  ck_assert_int_eq(q.least, 3);
  ck_assert_int_eq(q.most, 255);
}
END_TEST

Suite *quantization_suite(void)
{
  Suite *suite = suite_create("quantization");
  TCase *multipliers = tcase_create("multipliers"), *numbers = tcase_create("numbers");
  tcase_add_loop_test(multipliers, multipliers_equal_tflites, 0, sizeof known / sizeof *known);
  tcase_add_test(multipliers, impossible_factors_are_refused);
  tcase_add_test(multipliers, hard_swish_refuses_scales_too_far_apart);
  tcase_add_test(multipliers, a_multiplier_approximates_its_factor);
  tcase_add_test(multipliers, halves_are_rounded);
  tcase_add_test(multipliers, scales_are_multiplied_as_the_operator_does);
  tcase_add_test(numbers, reals_become_the_nearest_integer);
  tcase_add_test(numbers, activations_are_bounds);
  suite_add_tcase(suite, multipliers);
  suite_add_tcase(suite, numbers);
  return suite;
}
