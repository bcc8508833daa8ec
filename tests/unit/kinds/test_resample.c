/* Covers network/resample.c, {network, runner/engine}/kinds/resample.c: resizing of maps in every
 * mode, by size or scale and with any plan, compared with the formulas of the file formats and with
 * examples computed by hand. */
#include "network/resample.h"
#include "tests/support/problem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *resample_suite(void);

/* ---- the formulas ---- */

static double point_of(const struct mafat_resample *r, const struct mafat_resample_axis *a, int in,
                       int x)
{
  double scale = a->scale > 0 ? a->scale : (double)a->size / in;
  switch (r->coordinates) {
    case MAFAT_COORDINATES_HALF_PIXEL_SYMMETRIC:
      return in / 2. - in / 2. * a->size / (scale * in) + (x + .5) / scale - .5;
    case MAFAT_COORDINATES_PYTORCH_HALF_PIXEL: return a->size == 1 ? 0 : (x + .5) / scale - .5;
    case MAFAT_COORDINATES_ALIGN_CORNERS:
      return a->size == 1 ? 0 : x * (double)(in - 1) / (scale * in - 1);
    case MAFAT_COORDINATES_ASYMMETRIC: return x / scale;
    case MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN: return (x + .5) / scale;
    default: return (x + .5) / scale - .5;
  }
}

static int clamp(double at, int in)
{
  return at < 0 ? 0 : at > in - 1 ? in - 1 : (int)at;
}

static int nearest_of(const struct mafat_resample *r, double point, int in)
{
  double below = floor(point), rest = point - below;
  if (rest < 1e-5 || rest > 1 - 1e-5) return clamp(round(point), in); /* scales are rounded */
  bool up = r->rounding == MAFAT_ROUND_CEIL ||
            (r->rounding == MAFAT_ROUND_PREFER_FLOOR && rest > .5 + 1e-5) ||
            (r->rounding == MAFAT_ROUND_PREFER_CEIL && rest > .5 - 1e-5);
  return clamp(below + up, in);
}

/* Fills the weights of four pixels: two before the point and two after it. */
static void cubic_weights(const struct mafat_resample *r, double point, int in, double weights[4])
{
  double a = (double)r->keys, sum = 0;
  for (int k = 0; k < 4; k++) {
    double at = floor(point) + k - 1, d = fabs(point - at);
    weights[k] = d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                        : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
    if (r->exclude_outside && (at < 0 || at > in - 1)) weights[k] = 0;
    sum += weights[k];
  }
  for (int k = 0; k < 4; k++) weights[k] /= sum;
}

static double exact_cubic(const struct test_problem *p, int c, double down, double across)
{
  struct mafat_shape in = p->layer->in;
  double sum = 0, wy[4], wx[4];
  cubic_weights(p->layer->resample, down, in.h, wy);
  cubic_weights(p->layer->resample, across, in.w, wx);
  for (int k = 0; k < 16; k++)
    sum += wy[k / 4] * wx[k % 4] *
           test_problem_at(p, 0, c, clamp(floor(down) + k / 4 - 1, in.h),
                           clamp(floor(across) + k % 4 - 1, in.w));
  return sum;
}

static double exact_output(const void *problem, int c, int y, int x)
{
  const struct test_problem *p = problem;
  const struct mafat_resample *r = p->layer->resample;
  struct mafat_shape in = p->layer->in;
  double down = point_of(r, &r->y, in.h, y), across = point_of(r, &r->x, in.w, x), sum = 0;
  if (r->interpolation == MAFAT_INTERPOLATE_NEAREST)
    return test_problem_at(p, 0, c, nearest_of(r, down, in.h), nearest_of(r, across, in.w));
  if (r->interpolation == MAFAT_INTERPOLATE_CUBIC) return exact_cubic(p, c, down, across);
  for (int corner = 0; corner < 4; corner++) {
    double cy = floor(down) + corner / 2, cx = floor(across) + corner % 2;
    double weight = (1 - fabs(down - cy)) * (1 - fabs(across - cx));
    sum += weight * test_problem_at(p, 0, c, clamp(cy, in.h), clamp(cx, in.w));
  }
  return sum;
}

/* ---- random resizing ---- */

static struct mafat_resample_axis random_axis(struct test_rng *rng, int in)
{
  static const double scales[] = {2, 3, .5, 1.5, .6f, .8f, 2.6666667f, 1};
  struct mafat_resample_axis a = {test_random_int(rng, 1, 24), 0};
  if (test_random_chance(rng, 50)) return a;
  a.scale = scales[test_random_int(rng, 0, 7)];
  while (in * a.scale < 1) a.scale *= 2;
  a.size = (int)(in * a.scale);
  return a;
}

static struct mafat_resample *random_resample(struct test_rng *rng, struct mafat_shape in)
{
  struct mafat_resample *r = calloc(1, sizeof *r);
  r->interpolation = (enum mafat_interpolation)test_random_int(rng, 0, MAFAT_N_INTERPOLATIONS - 1);
  r->keys = test_random_chance(rng, 50) ? -.75f : -.5f;
  r->exclude_outside = test_random_chance(rng, 30);
  r->coordinates = (enum mafat_coordinates)test_random_int(rng, 0, MAFAT_N_COORDINATES - 1);
  r->rounding = (enum mafat_rounding)test_random_int(rng, 0, MAFAT_N_ROUNDINGS - 1);
  r->y = random_axis(rng, in.h);
  r->x = random_axis(rng, in.w);
  if (test_random_chance(rng, 5)) r->x = (struct mafat_resample_axis){150, 0};
  return r;
}

START_TEST(outputs_match_the_formulas)
{
  struct test_rng rng = test_rng(51000 + (uint64_t)_i);
  for (int i = 0; i < 6; i++) {
    struct mafat_shape in = {test_random_int(&rng, 1, 12), test_random_int(&rng, 1, 16),
                             test_random_int(&rng, 1, 40)};
    struct test_problem p;
    test_problem_open(&p, &rng, MAFAT_RESAMPLE, in, (struct mafat_shape){1, 1, 1});
    test_problem_add(&p, &rng, in);
    p.layer->resample = random_resample(&rng, in);
    test_problem_infer(&p);
    test_problem_check(&p, &(struct test_meaning){exact_output, &p, i});
    test_problem_close(&p);
  }
}
END_TEST

/* ---- taps and spans ---- */

static void check_cubic_taps(const struct mafat_layer *l, const struct mafat_points *points)
{
  struct mafat_cubic_tap before = {{0}, {0}};
  for (int y = 0; y < l->resample->y.size; y++) {
    struct mafat_cubic_tap tap = mafat_points_cubic_tap(points, y);
    struct mafat_span one = mafat_layer_in_span(l, 0, true, mafat_span(y, y + 1));
    float sum = 0;
    for (int k = 0; k < 4; k++) {
      ck_assert(tap.at[k] >= before.at[k] && tap.at[k] >= 0 && tap.at[k] < l->in.h);
      sum += tap.weights[k];
    }
    ck_assert(fabsf(sum - 1) < 1e-5f && one.begin == tap.at[0] && one.end == tap.at[3] + 1);
    before = tap;
  }
}

/* From one output to the next, taps do not move backwards. The input span that an output needs
 * begins at its first tap and ends at its last. */
START_TEST(taps_rise_and_spans_hold_them)
{
  struct test_rng rng = test_rng(52000 + (uint64_t)_i);
  int in = test_random_int(&rng, 1, 40);
  struct mafat_resample *r = random_resample(&rng, (struct mafat_shape){in, in, 1});
  struct mafat_operand operand = {.shape = {in, in, 1}};
  struct mafat_layer l = {
      .type = MAFAT_RESAMPLE, .operands = &operand, .n_operands = 1, .resample = r};
  ck_assert_int_eq(
      mafat_layer_infer(&l, &(struct mafat_infer_context){"test.cfg", 1, 0, "resample", NULL}),
      MAFAT_OK);
  struct mafat_points points = mafat_resample_points(r, true, in);
  struct mafat_tap before = {0, 0, 0};
  bool cubic = r->interpolation == MAFAT_INTERPOLATE_CUBIC;
  if (cubic) check_cubic_taps(&l, &points);
  for (int y = 0; y < r->y.size && !cubic; y++) {
    struct mafat_tap tap = mafat_points_tap(&points, y);
    struct mafat_span one = mafat_layer_in_span(&l, 0, true, mafat_span(y, y + 1));
    struct mafat_span all = mafat_layer_in_span(&l, 0, true, mafat_span(0, y + 1));
    ck_assert(tap.at >= before.at && tap.next >= before.next && tap.next >= tap.at &&
              tap.next <= tap.at + 1);
    ck_assert(tap.at >= 0 && tap.next < in && tap.weight >= 0 && tap.weight <= 1 &&
              (tap.weight > 0 || tap.next == tap.at));
    ck_assert(one.begin == tap.at && one.end == tap.next + 1 && all.end == one.end);
    before = tap;
  }
  free(r);
}
END_TEST

/* ---- examples computed by hand ---- */

static const struct {
  struct mafat_resample r; /* of rows */
  int in, at[6];
  float weights[6];
} known[] = {
    {{MAFAT_INTERPOLATE_NEAREST, MAFAT_COORDINATES_ASYMMETRIC, MAFAT_ROUND_FLOOR, {6, 0}, {1, 0}, 0,
     false, 0}, 3, {0, 0, 1, 1, 2, 2}, {0}},
    {{MAFAT_INTERPOLATE_NEAREST, MAFAT_COORDINATES_ASYMMETRIC, MAFAT_ROUND_FLOOR, {6, 1.3333334f},
     {1, 0}, 0, false, 0}, 5, {0, 0, 1, 2, 3, 3}, {0}},
    {{MAFAT_INTERPOLATE_NEAREST, MAFAT_COORDINATES_HALF_PIXEL, MAFAT_ROUND_PREFER_FLOOR, {3, 0}, {1,
     0}, 0, false, 0}, 6, {0, 2, 4}, {0}},
    {{MAFAT_INTERPOLATE_NEAREST, MAFAT_COORDINATES_HALF_PIXEL, MAFAT_ROUND_PREFER_CEIL, {3, 0}, {1,
     0}, 0, false, 0}, 6, {1, 3, 5}, {0}},
    {{MAFAT_INTERPOLATE_NEAREST, MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN, MAFAT_ROUND_FLOOR, {3, 0},
     {1, 0}, 0, false, 0}, 6, {1, 3, 5}, {0}},
    {{MAFAT_INTERPOLATE_NEAREST, MAFAT_COORDINATES_ALIGN_CORNERS, MAFAT_ROUND_PREFER_CEIL, {4, 0},
     {1, 0}, 0, false, 0}, 3, {0, 1, 1, 2}, {0}},
    {{MAFAT_INTERPOLATE_NEAREST, MAFAT_COORDINATES_ASYMMETRIC, MAFAT_ROUND_CEIL, {4, 0}, {1, 0}, 0,
     false, 0}, 2, {0, 1, 1, 1}, {0}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_HALF_PIXEL, 0, {4, 0}, {1, 0}, 0, false, 0}, 2,
     {0, 0, 0, 1}, {0, .25f, .75f, 0}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_ASYMMETRIC, 0, {4, 0}, {1, 0}, 0, false, 0}, 2,
     {0, 0, 1, 1}, {0, .5f, 0, 0}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_ALIGN_CORNERS, 0, {3, 0}, {1, 0}, 0, false, 0}, 5,
     {0, 2, 4}, {0}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_ALIGN_CORNERS, 0, {2, .6f}, {1, 0}, 0, false, 0},
     4, {0, 2}, {0, .142857f}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_PYTORCH_HALF_PIXEL, 0, {1, 0}, {1, 0}, 0, false,
     0}, 5, {0}, {0}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_HALF_PIXEL, 0, {1, 0}, {1, 0}, 0, false, 0}, 5,
     {2}, {0}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_HALF_PIXEL_SYMMETRIC, 0, {2, .6f}, {1, 0}, 0,
     false, 0}, 4, {0, 2}, {.666667f, .333333f}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_ASYMMETRIC, 0, {5, 0}, {1, 0}, 0, false,
     MAFAT_POINTS_FIXED}, 3, {0, 0, 1, 1, 2}, {0, .599609f, .199219f, .798828f, .398438f}},
    {{MAFAT_INTERPOLATE_LINEAR, MAFAT_COORDINATES_HALF_PIXEL, 0, {5, 0}, {1, 0}, 0, false,
     MAFAT_POINTS_FIXED}, 3, {0, 0, 0, 1, 2}, {0, .399414f, .999023f, .598633f, .198242f}},
};

START_TEST(taps_match_the_examples)
{
  struct mafat_points points = mafat_resample_points(&known[_i].r, true, known[_i].in);
  for (int y = 0; y < known[_i].r.y.size; y++) {
    struct mafat_tap tap = mafat_points_tap(&points, y);
    ck_assert_int_eq(tap.at, known[_i].at[y]);
    ck_assert_float_eq_tol(tap.weight, known[_i].weights[y], 1e-5f);
  }
}
END_TEST

/* Like TFLite, computes in floats, where 41 * (2 / 82) is less than 1. */
START_TEST(tflites_nearest_is_computed_in_floats)
{
  struct mafat_resample r = {.interpolation = MAFAT_INTERPOLATE_NEAREST,
                             .coordinates = MAFAT_COORDINATES_ASYMMETRIC,
                             .rounding = MAFAT_ROUND_FLOOR,
                             .y.size = 82,
                             .x.size = 82};
  struct mafat_points exact = mafat_resample_points(&r, true, 2);
  r.precision = MAFAT_POINTS_SINGLE;
  struct mafat_points single = mafat_resample_points(&r, true, 2);
  ck_assert_int_eq(mafat_points_tap(&exact, 41).at, 1);
  ck_assert_int_eq(mafat_points_tap(&single, 41).at, 0);
  ck_assert_int_eq(mafat_points_tap(&single, 42).at, 1);
}
END_TEST

static const struct mafat_resample faults[] = {
    {MAFAT_N_INTERPOLATIONS, 0, 0, {3, 0}, {3, 0}, 0, false, 0},
    {0, MAFAT_N_COORDINATES, 0, {3, 0}, {3, 0}, 0, false, 0},
    {0, 0, MAFAT_N_ROUNDINGS, {3, 0}, {3, 0}, 0, false, 0},
    {0, 0, 0, {0, 0}, {3, 0}, 0, false, 0},
    {0, 0, 0, {3, 0}, {1 << 21, 0}, 0, false, 0},
    {0, 0, 0, {3, -1}, {3, 0}, 0, false, 0},
    {0, 0, 0, {3, INFINITY}, {3, 0}, 0, false, 0},
    {0, 0, 0, {3, NAN}, {3, 0}, 0, false, 0},
    {0, 0, 0, {3, .1}, {3, 0}, 0, false, 0},
    {MAFAT_INTERPOLATE_CUBIC, 0, 0, {3, 0}, {3, 0}, NAN, false, 0},
    {MAFAT_INTERPOLATE_CUBIC, 0, 0, {3, 0}, {3, 0}, 5, false, 0},
    {MAFAT_INTERPOLATE_CUBIC, 0, 0, {3, 0}, {3, 0}, 0, false, MAFAT_POINTS_SINGLE},
    {0, 0, 0, {3, .5}, {3, 0}, 0, false, MAFAT_POINTS_SINGLE},
    {0, 0, 0, {3, 0}, {3, 0}, 0, false, MAFAT_N_PRECISIONS},
};

START_TEST(invalid_settings_are_refused)
{
  struct mafat_resample r = faults[_i];
  struct mafat_operand operand = {.shape = {5, 5, 3}};
  struct mafat_layer l = {
      .type = MAFAT_RESAMPLE, .operands = &operand, .n_operands = 1, .resample = &r};
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(
      mafat_layer_infer(&l, &(struct mafat_infer_context){"test.cfg", 1, 0, "resample", &d}),
      MAFAT_EFORMAT);
  ck_assert_msg(strncmp(d.text, "test.cfg:1: ", 12) == 0, "%s", d.text);
}
END_TEST

Suite *resample_suite(void)
{
  Suite *s = suite_create("resample");
  TCase *t = tcase_create("resample");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, outputs_match_the_formulas, 0, test_seeds(40));
  tcase_add_loop_test(t, taps_rise_and_spans_hold_them, 0, 300);
  tcase_add_loop_test(t, taps_match_the_examples, 0, sizeof known / sizeof *known);
  tcase_add_test(t, tflites_nearest_is_computed_in_floats);
  tcase_add_loop_test(t, invalid_settings_are_refused, 0, sizeof faults / sizeof *faults);
  suite_add_tcase(s, t);
  return s;
}
