/* Covers tests/kernels/integer_rule.c: the reference for integer networks, compared with results
 * computed by hand and with the same functions of real numbers. */
#include "tests/kernels/integer_rule.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

Suite *integer_rule_suite(void);

static const struct mafat_rule_output any = {0, -128, 127};

START_TEST(products_are_rounded_with_halves_up)
{
  ck_assert_int_eq(mafat_rule_double_high(1 << 30, 1 << 30), 1 << 29);
  ck_assert_int_eq(mafat_rule_double_high(1, 1 << 30), 1);   /* 1/2 */
  ck_assert_int_eq(mafat_rule_double_high(-1, 1 << 30), 0);  /* -1/2 */
  ck_assert_int_eq(mafat_rule_double_high(-3, 1 << 30), -1); /* -3/2 */
  ck_assert_int_eq(mafat_rule_double_high(INT32_MIN, INT32_MIN), INT32_MAX);
  ck_assert_int_eq(mafat_rule_double_high(INT32_MIN, INT32_MAX), -INT32_MAX);
}
END_TEST

START_TEST(divisions_are_rounded_with_halves_away_from_zero)
{
  ck_assert_int_eq(mafat_rule_divide(5, 1), 3);
  ck_assert_int_eq(mafat_rule_divide(-5, 1), -3);
  ck_assert_int_eq(mafat_rule_divide(-4, 3), -1);
  ck_assert_int_eq(mafat_rule_divide(-3, 3), 0);
  ck_assert_int_eq(mafat_rule_divide(INT32_MAX, 31), 1);
  ck_assert_int_eq(mafat_rule_divide(INT32_MIN, 31), -1);
  ck_assert_int_eq(mafat_rule_divide(INT32_MIN, 0), INT32_MIN);
}
END_TEST

/* A quarter of 1 is rounded twice: half of 1 becomes 1, and half of that becomes 1 again. */
START_TEST(factors_are_applied_in_two_roundings)
{
  struct mafat_rule_scale quarter = {1 << 30, -1};
  ck_assert_int_eq(mafat_rule_rescale(1, quarter), 1); /* 1/2 -> 1, 1/2 -> 1 */
  ck_assert_int_eq(mafat_rule_rescale(-1, quarter), 0);
  ck_assert_int_eq(mafat_rule_rescale(5, (struct mafat_rule_scale){1 << 30, 3}), 20);
  ck_assert_int_eq(mafat_rule_rescale(1 << 30, (struct mafat_rule_scale){INT32_MAX, 4}),
                   INT32_MAX - 1);
}
END_TEST

START_TEST(factors_of_real_numbers_have_31_bits)
{
  struct mafat_rule_scale s = mafat_rule_scale_of(0.75);
  ck_assert_int_eq(s.multiplier, 1610612736);
  ck_assert_int_eq(s.shift, 0);
  s = mafat_rule_scale_of(1 - ldexp(1, -40)); /* is rounded to 1 */
  ck_assert_int_eq(s.multiplier, 1 << 30);
  ck_assert_int_eq(s.shift, 1);
  s = mafat_rule_scale_of(ldexp(1, -33));
  ck_assert_int_eq(s.multiplier, 0);
  ck_assert_int_eq(s.shift, 0);
}
END_TEST

START_TEST(outputs_are_clamped_beyond_32_bits)
{
  struct mafat_rule_scale one = {1 << 30, 1};
  ck_assert_int_eq(mafat_rule_finish(INT32_MAX, one, (struct mafat_rule_output){127, -128, 127}),
                   127);
  ck_assert_int_eq(mafat_rule_finish(INT32_MIN, one, (struct mafat_rule_output){-128, -128, 127}),
                   -128);
  ck_assert_int_eq(mafat_rule_finish(9, one, (struct mafat_rule_output){3, 0, 6}), 6);
}
END_TEST

START_TEST(averages_round_by_the_sign_of_the_number)
{
  ck_assert_int_eq(mafat_rule_average(3, 2), 2);
  ck_assert_int_eq(mafat_rule_average(-3, 2), -2);
  ck_assert_int_eq(mafat_rule_average(-3 + 2 * 128, 2) - 128,
                   -1); /* -3 / 2 as uint8 is 126.5, rounded to 127, which is -1 */
  ck_assert_int_eq(mafat_rule_mean(10, 4, 0, (struct mafat_rule_scale){1 << 30, 1}, any), 3);
}
END_TEST

/* Windows of 3 x 3 over a 2 x 2 map have four of nine taps inside it. Taps in the padding do not
 * count. */
START_TEST(windows_see_taps_inside_the_map)
{
  static const int16_t map[] = {1, 2, 3, 4}, weights[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  static const int32_t bias[] = {100};
  struct mafat_rule_conv c = {{map, 2, 2, 1, 10}, {3, 3, 1, 1, 1, 1, 1, 1}, weights, bias, 0, 1, 1};
  ck_assert_int_eq(mafat_rule_conv(&c, 0, 0, 0), 100 + 10 - 4 * 10);
  c.weights_zero = 3;
  ck_assert_int_eq(mafat_rule_conv(&c, 0, 0, 0), 100 + (10 - 4 * 10) * (1 - 3));
  c.in.zero = 0;
  ck_assert_int_eq(mafat_rule_maxpool(&c.in, &c.window, 1, 1, 0, any), 4);
  ck_assert_int_eq(mafat_rule_avgpool(&c.in, &c.window, 1, 1, 0, any), 3); /* 2.5 */
}
END_TEST

/* Each result differs from the value of the real function by at most 1; that of hard swish, which
 * is rounded more often, by at most 1.5. */
START_TEST(functions_are_near_real_ones)
{
  const float scale = 0.05f;
  struct mafat_rule_hard_swish h = mafat_rule_hard_swish_of(scale, 0.06f);
  h.zero = -7;
  h.out = (struct mafat_rule_output){-20, -128, 127};
  for (int q = -128; q <= 127; q++) {
    double x = (double)scale * (q + 7), six = fmin(fmax(x + 3, 0), 6);
    ck_assert_double_le(
        fabs(mafat_rule_logistic(q, -7, scale) + 128 - fmin(256 / (1 + exp(-x)), 255)), 1);
    ck_assert_double_le(fabs(mafat_rule_tanh(q, -7, scale) - fmin(128 * tanh(x), 127)), 1);
    ck_assert_double_le(
        fabs(mafat_rule_hard_swish(&h, q) - fmin(x * six / 6 / (double)0.06f - 20, 127)), 1.5);
  }
}
END_TEST

START_TEST(softmax_adds_up_to_one)
{
  int16_t q[10] = {3, 9, -128, 127, 40, 126, 100, 0, -3, 77}, out[10];
  double reals[10], sum = 0;
  for (int i = 0; i < 10; i++) sum += reals[i] = exp(0.07 * q[i]);
  mafat_rule_softmax(q, out, 10, 0.07f, 1);
  for (int i = 0; i < 10; i++) ck_assert_double_le(fabs(out[i] + 128 - 256 * reals[i] / sum), 1);
}
END_TEST

START_TEST(sums_of_two_scales_are_near_real_ones)
{
  const float x_scale = 0.03f, z_scale = 0.11f, scale = 0.09f;
  struct mafat_rule_add a = mafat_rule_add_of(x_scale, z_scale, scale);
  a.x_zero = 5;
  a.z_zero = -9;
  a.out = any;
  for (int x = -128; x < 128; x += 5)
    for (int z = -128; z < 128; z += 3) {
      double real = ((double)x_scale * (x - 5) + (double)z_scale * (z + 9)) / (double)scale;
      ck_assert_double_le(fabs(mafat_rule_add(&a, x, z) - fmin(fmax(real, -128), 127)), 0.51);
    }
}
END_TEST

START_TEST(floats_are_rounded_with_halves_away_from_zero)
{
  ck_assert_int_eq(mafat_rule_quantise(2.5f, 1, any), 3);
  ck_assert_int_eq(mafat_rule_quantise(-2.5f, 1, any), -3);
  ck_assert_int_eq(mafat_rule_quantise(0.49999997f, 1, any), 0);
  ck_assert_int_eq(mafat_rule_quantise(INFINITY, 1, any), 127);
  ck_assert_int_eq(mafat_rule_quantise(-3e38f, 1, any), -128);
  ck_assert_int_eq(mafat_rule_quantise(NAN, 1, any), -128);
  ck_assert_float_eq(mafat_rule_dequantise(-128, 0.5f, 127), -127.5f);
}
END_TEST

START_TEST(resized_maps_keep_their_corners)
{
  static const int16_t map[] = {-100, 0, 50, 100};
  struct mafat_rule_map in = {map, 2, 2, 1, 0};
  ck_assert_int_eq(mafat_rule_bilinear(&in, MAFAT_RULE_CORNERS, 3, 3, 0, 0, 0), -100);
  ck_assert_int_eq(mafat_rule_bilinear(&in, MAFAT_RULE_CORNERS, 3, 3, 2, 2, 0), 100);
  ck_assert_int_eq(mafat_rule_bilinear(&in, MAFAT_RULE_CORNERS, 3, 3, 1, 1, 0), 13); /* 12.5 */
  ck_assert_int_eq(mafat_rule_bilinear(&in, MAFAT_RULE_CORNERS, 3, 3, 1, 0, 0), -25);
  ck_assert_int_eq(mafat_rule_nearest(MAFAT_RULE_ASYMMETRIC, 2, 4, 1), 0);
  ck_assert_int_eq(mafat_rule_nearest(MAFAT_RULE_CENTRES, 2, 4, 2), 1);
}
END_TEST

Suite *integer_rule_suite(void)
{
  Suite *suite = suite_create("integer_rule");
  TCase *t = tcase_create("rule");
  tcase_add_test(t, products_are_rounded_with_halves_up);
  tcase_add_test(t, divisions_are_rounded_with_halves_away_from_zero);
  tcase_add_test(t, factors_are_applied_in_two_roundings);
  tcase_add_test(t, factors_of_real_numbers_have_31_bits);
  tcase_add_test(t, outputs_are_clamped_beyond_32_bits);
  tcase_add_test(t, averages_round_by_the_sign_of_the_number);
  tcase_add_test(t, windows_see_taps_inside_the_map);
  tcase_add_test(t, functions_are_near_real_ones);
  tcase_add_test(t, softmax_adds_up_to_one);
  tcase_add_test(t, sums_of_two_scales_are_near_real_ones);
  tcase_add_test(t, floats_are_rounded_with_halves_away_from_zero);
  tcase_add_test(t, resized_maps_keep_their_corners);
  suite_add_tcase(suite, t);
  return suite;
}
