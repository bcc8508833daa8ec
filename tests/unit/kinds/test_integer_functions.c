/* Covers runner/kernels/{integer, integer_functions}.c: the elementwise functions of integer
 * (quantized) networks. Each entry of each table is compared, bit for bit, with the reference in
 * tests/kernels/integer_rule.h. Also tests sums, multipliers and shifts of extreme values. */
#include "base/blocks.h"
#include "runner/kernels/integer.h"
#include "runner/kernels/integer_functions.h"
#include "runner/kernels/kernels.h"
#include "runner/kernels/requantize.h"
#include "tests/kernels/integer_rule.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *integer_functions_suite(void);

enum { SEEDS = 200, TO_BYTE = MAFAT_SIGNED_TO_BYTE /* an int8 plus this is stored as a byte */ };

static float random_scale(struct test_rng *rng)
{
  return ldexpf(1 + (float)test_random_int(rng, 0, 1000) / 1001, test_random_int(rng, -14, 2));
}

static struct mafat_quantization random_quantization(struct test_rng *rng)
{
  struct mafat_quantization q = mafat_quantization(random_scale(rng), test_random_int(rng, 0, 255));
  if (test_random_chance(rng, 30)) {
    q.least = (unsigned char)test_random_int(rng, 0, 255);
    q.most = (unsigned char)test_random_int(rng, q.least, 255);
  }
  return q;
}

/* The zero point and bounds as int8 numbers, as the reference expects them. */
static struct mafat_rule_output as_signed(const struct mafat_quantization *q)
{
  return (struct mafat_rule_output){q->zero - TO_BYTE, q->least - TO_BYTE, q->most - TO_BYTE};
}

static struct mafat_rule_scale factor_of(double real)
{
  return mafat_rule_scale_of(real);
}

/* ONNX defines Clip(x) = min(max(x, least), most), even if least > most; then the result is always
 * most. */
START_TEST(clip_with_least_above_most_gives_most)
{
  const struct mafat_integer_kernels *kernels =
      mafat_integer_kernels_find(mafat_kernels_find(NULL));
  const struct mafat_quantization q = {1, 128, 0, 255, MAFAT_REQUANTIZE_EVEN, 0};
  uint8_t table[256];
  mafat_integer_table_even(kernels, table, &q, &q,
                           (struct mafat_activating){.kind = MAFAT_CLIP, .a = 5, .b = 1});
  for (int u = 0; u < 256; u++) ck_assert_int_eq(table[u], 129);
  mafat_integer_table_even(kernels, table, &q, &q,
                           (struct mafat_activating){.kind = MAFAT_CLIP, .a = -3, .b = 7});
  for (int u = 0; u < 256; u++) ck_assert_int_eq(table[u], u < 125 ? 125 : u > 135 ? 135 : u);
}
END_TEST

/* Tables of requantization, concatenation and activations equal the reference's results. */
START_TEST(tables_match_the_rule)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_quantization in = random_quantization(&rng), out = random_quantization(&rng);
  const struct mafat_rule_output to = as_signed(&out);
  const float slope = (float)test_random_int(&rng, -2000, 2000) / 1000;
  uint8_t fixed[256], concat[256], logistic[256], tangent[256], leaky[256], swish[256];
  const struct mafat_integer_kernels *kernels =
      mafat_integer_kernels_find(mafat_kernels_find(NULL));
  const bool can = mafat_quantization_can_hard_swish(&in, &out);
  const int zero = in.zero - TO_BYTE;
  out.rounding = MAFAT_REQUANTIZE_FLOAT;
  mafat_integer_table_requantize(kernels, concat, &in,
                                 &(struct mafat_quantization){out.scale, out.zero, 0, 255,
                                                              MAFAT_REQUANTIZE_FLOAT, 0});
  out.rounding = MAFAT_REQUANTIZE_FIXED;
  mafat_integer_table_requantize(kernels, fixed, &in, &out);
  mafat_integer_table_logistic(logistic, &in);
  mafat_integer_table_tanh(tangent, &in);
  mafat_integer_table_leaky(leaky, &in, &out, slope);
  if (can) mafat_integer_table_hard_swish(swish, &in, &out);
  struct mafat_rule_hard_swish h = mafat_rule_hard_swish_of(in.scale, out.scale);
  h.zero = zero;
  h.out = to;
  const float negative = in.scale * slope / out.scale;
  struct mafat_rule_scale above = factor_of((double)(in.scale / out.scale)),
                          below = factor_of(fabs((double)negative));
  if (negative < 0) below.multiplier = -below.multiplier;
  for (int u = 0; u < 256; u++) {
    const int q = u - TO_BYTE;
    ck_assert_int_eq(fixed[u],
                     TO_BYTE + mafat_rule_requantise(
                                  q, zero, factor_of((double)in.scale / (double)out.scale), to));
    ck_assert_int_eq(concat[u], mafat_rule_join(u, in.zero, in.scale, out.zero, out.scale));
    ck_assert_int_eq(logistic[u], TO_BYTE + mafat_rule_logistic(q, zero, in.scale));
    ck_assert_int_eq(tangent[u], TO_BYTE + mafat_rule_tanh(q, zero, in.scale));
    ck_assert_int_eq(leaky[u], TO_BYTE + mafat_rule_leaky(q, zero, above, below, to));
    if (can) ck_assert_int_eq(swish[u], TO_BYTE + mafat_rule_hard_swish(&h, q));
  }
}
END_TEST

/* Softmax of few and many inputs equals the reference's. */
START_TEST(softmax_matches_the_rule)
{
  enum { MOST = 1200 };
  struct test_rng rng = test_rng((uint64_t)_i);
  const int n = test_random_int(&rng, 1, test_random_chance(&rng, 30) ? MOST : 20),
            least = test_random_chance(&rng, 50) ? 0 : 250;
  const float scale = random_scale(&rng),
              beta = test_random_chance(&rng, 50) ? 1 : random_scale(&rng);
  uint8_t in[MOST], out[MOST];
  int16_t q[MOST], wanted[MOST];
  int32_t exponentials[256];
  for (int i = 0; i < n; i++) {
    in[i] = (uint8_t)test_random_int(&rng, least, 255);
    q[i] = (int16_t)(in[i] - TO_BYTE);
  }
  mafat_integer_exponentials(exponentials, scale, beta);
  mafat_integer_softmax(exponentials, in, out, n);
  mafat_rule_softmax(q, wanted, n, scale, beta);
  for (int i = 0; i < n; i++) ck_assert_int_eq(out[i], wanted[i] + TO_BYTE);
}
END_TEST

START_TEST(means_match_the_rule)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  const struct mafat_quantization in = random_quantization(&rng), out = random_quantization(&rng);
  const struct mafat_rule_output to = as_signed(&out);
  const struct mafat_rule_scale scale = factor_of((double)in.scale / (double)out.scale);
  const int n = test_random_int(&rng, 1, 3000);
  const int64_t sum = test_random_int(&rng, 0, 255 * n);
  ck_assert_int_eq(
      mafat_integer_mean(sum, n, in.zero, (struct mafat_multiplier){scale.multiplier, scale.shift},
                         &out),
      TO_BYTE + mafat_rule_mean(sum - (int64_t)TO_BYTE * n, n, in.zero - TO_BYTE, scale, to));
}
END_TEST

/* Resampling settings that correspond to TFLite's align_corners and half_pixel_centers. */
static struct mafat_resample resample_of(enum mafat_rule_grid grid, enum mafat_precision precision,
                                         int out_h, int out_w)
{
  static const enum mafat_coordinates coordinates[] = {
      MAFAT_COORDINATES_ASYMMETRIC, MAFAT_COORDINATES_ALIGN_CORNERS, MAFAT_COORDINATES_HALF_PIXEL};
  return (struct mafat_resample){.interpolation = MAFAT_INTERPOLATE_LINEAR,
                                 .coordinates = coordinates[grid],
                                 .precision = precision,
                                 .y.size = out_h,
                                 .x.size = out_w};
}

START_TEST(resized_rows_match_the_rule)
{
  enum { SIDE = 9, MOST = 20, CHANNELS = 16 };
  struct test_rng rng = test_rng((uint64_t)_i);
  const int h = test_random_int(&rng, 1, SIDE), w = test_random_int(&rng, 1, SIDE),
            c = test_random_int(&rng, 1, CHANNELS);
  const int out_h = test_random_int(&rng, 1, MOST), out_w = test_random_int(&rng, 1, MOST),
            y = test_random_int(&rng, 0, out_h - 1);
  const bool is_signed = test_random_chance(&rng, 50);
  const enum mafat_rule_grid grid = (enum mafat_rule_grid)test_random_int(&rng, 0, 2);
  int16_t map[SIDE * SIDE * CHANNELS];
  uint8_t bytes[SIDE * SIDE * CHANNELS], out[MOST * CHANNELS];
  struct mafat_tap taps[MOST];
  struct mafat_quantization q = {.scale = 1, .most = 255, .is_signed = is_signed};
  for (int i = 0; i < h * w * c; i++) {
    bytes[i] = (uint8_t)test_random_int(&rng, 0, 255);
    map[i] = (int16_t)(bytes[i] - (is_signed ? TO_BYTE : 0));
  }
  const struct mafat_resample r =
      resample_of(grid, is_signed ? MAFAT_POINTS_FIXED : MAFAT_POINTS_SINGLE, out_h, out_w);
  const struct mafat_points rows = mafat_resample_points(&r, true, h),
                            columns = mafat_resample_points(&r, false, w);
  const struct mafat_tap row = mafat_points_tap(&rows, y);
  for (int x = 0; x < out_w; x++) taps[x] = mafat_points_tap(&columns, x);
  const struct mafat_integer_resize_call call = {
      bytes + row.at * w * c, bytes + row.next * w * c, row.weight, taps, out, 0, out_w, c, c, c,
      &q, &q};
  if (is_signed) mafat_integer_resize_fixed(&call);
  else mafat_integer_resize_single(&call);
  const struct mafat_rule_map in = {map, h, w, c, 0};
  for (int x = 0; x < out_w; x++)
    for (int ch = 0; ch < c; ch++)
      ck_assert_int_eq(out[x * c + ch] - (is_signed ? TO_BYTE : 0),
                       (is_signed ? mafat_rule_bilinear
                                  : mafat_rule_bilinear_single)(&in, grid, out_h, out_w, y, x, ch));
}
END_TEST

START_TEST(onnx_resizes_round_to_even)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  enum { CHANNELS = 16 };
  const struct mafat_quantization in = random_quantization(&rng);
  struct mafat_quantization to = test_random_chance(&rng, 50) ? in : random_quantization(&rng);
  const struct mafat_tap tap = {3, 4, (float)test_random_int(&rng, 0, 16) / 16};
  const float down = (float)test_random_int(&rng, 0, 16) / 16;
  uint8_t above[2 * CHANNELS], below[2 * CHANNELS], out[CHANNELS];
  for (int i = 0; i < 2 * CHANNELS; i++) {
    above[i] = (uint8_t)test_random_int(&rng, 0, 255);
    below[i] = (uint8_t)test_random_int(&rng, 0, 255);
  }
  const struct mafat_integer_resize_call call = {above, below,    down,     &tap,     out, 3,
                                                 1,     CHANNELS, CHANNELS, CHANNELS, &in, &to};
  mafat_integer_resize_even(&call);
  for (int i = 0; i < CHANNELS; i++) {
    const int four[] = {above[i], below[i], above[CHANNELS + i], below[CHANNELS + i]};
    ck_assert_int_eq(
        out[i], mafat_rule_between_even(four, in.zero, down, tap.weight, in.scale / to.scale,
                                        (struct mafat_rule_output){to.zero, to.least, to.most}));
  }
}
END_TEST

/* With many outputs, rounding can put a sample point past the last pixel. The pixels that are read
 * must still be inside the map. */
START_TEST(rounded_points_are_inside_the_map)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  const int in = test_random_int(&rng, 1, 40),
            out = test_random_int(&rng, 1, test_random_chance(&rng, 50) ? 5000 : 100);
  const enum mafat_rule_grid grid = (enum mafat_rule_grid)test_random_int(&rng, 0, 2);
  struct mafat_resample r = resample_of(
      grid, test_random_chance(&rng, 50) ? MAFAT_POINTS_FIXED : MAFAT_POINTS_SINGLE, out, out);
  const struct mafat_points points = mafat_resample_points(&r, true, in);
  struct mafat_tap before = {0, 0, 0};
  for (int x = 0; x < out; x++) {
    const struct mafat_tap tap = mafat_points_tap(&points, x);
    ck_assert(tap.at >= before.at && tap.next >= before.next &&
              tap.next - tap.at <= (tap.weight > 0) && tap.next < in && fabsf(tap.weight) < 1);
    before = tap;
  }
}
END_TEST

/* Valid but useless scales: all values are nearly 0. */
static const float finest[] = {0x1p-149f, 1e-30f, 1e-9f, 0x1p-29f, 0x1p-28f, 0x1p-27f};

START_TEST(numbers_of_the_finest_scales_are_all_near_0)
{
  const struct mafat_quantization in = {.scale = finest[_i], .zero = 77, .most = 255};
  const uint8_t numbers[] = {0, 255, 128, 3};
  uint8_t logistic[256], tangent[256], out[4];
  int32_t exponentials[256];
  mafat_integer_table_logistic(logistic, &in);
  mafat_integer_table_tanh(tangent, &in);
  for (int q = 0; q < 256; q++) {
    ck_assert_int_eq(logistic[q], 128);
    ck_assert_int_eq(tangent[q], 128);
  }
  mafat_integer_exponentials(exponentials, finest[_i], 1);
  mafat_integer_softmax(exponentials, numbers, out, 4);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(out[i], 64);
}
END_TEST

/* A dense layer whose weighted sum and whose correction by the zero point each exceed 2^31, but
 * nearly cancel. Adding them as signed integers would be undefined behaviour, which
 * UndefinedBehaviorSanitizer would report. */
START_TEST(sums_are_modulo_32_bits)
{
  enum { INPUTS = 70000, WIDTH = 8, ROOM = 16 };
  const struct mafat_integer_kernels *levels[ROOM];
  const int n_levels = mafat_integer_kernels_list(levels, ROOM);
  uint8_t *in = malloc(INPUTS), out[WIDTH], *to = out;
  const uint8_t *from = in;
  int8_t *weights = malloc((size_t)INPUTS * WIDTH);
  int32_t bias[MAFAT_PANEL] = {0}, multipliers[MAFAT_PANEL], shifts[MAFAT_PANEL];
  ck_assert(in && weights);
  memset(in, 255, INPUTS);
  memset(weights, INT8_MIN, (size_t)INPUTS * WIDTH);
  weights[0] = INT8_MAX; /* 255 more than the others, so the first filter's sum is 255 * 255 */
  for (int f = 0; f < MAFAT_PANEL; f++) multipliers[f] = 1 << 30, shifts[f] = -8;
  const struct mafat_integer_block_slice block_slice = {&from, INPUTS, INPUTS};
  const struct mafat_integer_conv_call call = {.block_slices = &block_slice,
                                               .n_block_slices = 1,
                                               .segments = {{&to, WIDTH, WIDTH}},
                                               .n_segments = 1,
                                               .n_rows = 1,
                                               .n_cols = 1,
                                               .window = mafat_window_square(1, 1, 0),
                                               .weights = weights,
                                               .width = WIDTH,
                                               .weights_zero = INT8_MIN,
                                               .to = {bias, multipliers, shifts,
                                                      mafat_quantization(1, 0)},
                                               .start = true,
                                               .finish = true};
  for (int i = 0; i < n_levels; i++) {
    memset(out, 1, sizeof out);
    levels[i]->conv(&call);
    ck_assert_int_eq(out[0], (255 * 255 + 256) / 512);
    for (int f = 1; f < WIDTH; f++) ck_assert_int_eq(out[f], 0);
  }
  free(weights);
  free(in);
}
END_TEST

/* ---- extreme sums and factors ---- */

static int32_t extreme_sum(struct test_rng *rng)
{
  static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, INT32_MAX, 0, 1,
                                 -1,        1 << 30,       -(1 << 30)};
  if (test_random_chance(rng, 50))
    return ends[test_random_int(rng, 0, (int)(sizeof ends / sizeof *ends) - 1)];
  return (int32_t)((uint32_t)test_random(rng) << 8) >> test_random_int(rng, 0, 30);
}

static int32_t extreme_multiplier(struct test_rng *rng)
{
  static const int32_t ends[] = {INT32_MIN, -INT32_MAX, INT32_MAX, 1 << 30, -(1 << 30), 0};
  if (test_random_chance(rng, 70))
    return ends[test_random_int(rng, 0, (int)(sizeof ends / sizeof *ends) - 1)];
  return test_random_int(rng, 1 << 30, INT32_MAX);
}

static int32_t extreme_factor(struct test_rng *rng)
{
  static const float ends[] = {INFINITY, -INFINITY, 0, 3e38f, -1e-42f, 0.49f, 0.5f};
  float factor = ends[test_random_int(rng, 0, (int)(sizeof ends / sizeof *ends) - 1)];
  int32_t bits;
  if (test_random_chance(rng, 30)) factor = random_scale(rng);
  memcpy(&bits, &factor, sizeof bits);
  return bits;
}

/* The expected output byte of a sum. */
static unsigned char finished(const struct mafat_quantization *q, int32_t sum, int32_t multiplier,
                              int32_t shift)
{
  float factor;
  if (q->rounding != MAFAT_REQUANTIZE_EVEN)
    return mafat_put_number(q, mafat_requantize(sum, (struct mafat_multiplier){multiplier, shift}));
  memcpy(&factor, sum < 0 && shift ? &shift : &multiplier, sizeof factor);
  return mafat_put_even(q, (float)sum * factor);
}

/* With all allowed sums, multipliers and shifts, kernels of all levels compute the expected
 * bytes. */
static void check_extremes(struct test_rng *rng, bool even)
{
  enum { COLS = 5, ROOM = 16, BLOCK = MAFAT_CHANNEL_BLOCK };
  const struct mafat_integer_kernels *levels[ROOM];
  const int n_levels = mafat_integer_kernels_list(levels, ROOM), n = test_random_int(rng, 1, BLOCK),
            width = n > 8 ? BLOCK : 8;
  static const int8_t weights[BLOCK * 4];
  static const uint8_t in[BLOCK * COLS + 4];
  uint8_t out[BLOCK * COLS], *to = out;
  const uint8_t *from = in;
  int32_t sums[BLOCK], multipliers[BLOCK], shifts[BLOCK];
  struct mafat_quantization q = random_quantization(rng);
  q.rounding = even ? MAFAT_REQUANTIZE_EVEN : MAFAT_REQUANTIZE_FIXED;
  for (int f = 0; f < BLOCK; f++) {
    sums[f] = extreme_sum(rng);
    multipliers[f] = even ? extreme_factor(rng) : extreme_multiplier(rng);
    shifts[f] = even             ? extreme_factor(rng)
                : multipliers[f] ? test_random_chance(rng, 20) ? -1 : test_random_int(rng, -31, 30)
                                 : 0;
  }
  const struct mafat_integer_finish finish = {sums, multipliers, shifts, q};
  const struct mafat_integer_block_slice block_slice = {&from, 4, BLOCK};
  const struct mafat_integer_conv_call conv = {.block_slices = &block_slice,
                                               .n_block_slices = 1,
                                               .segments = {{&to, n, BLOCK}},
                                               .n_segments = 1,
                                               .n_rows = 1,
                                               .n_cols = COLS,
                                               .window = mafat_window_square(1, 1, 0),
                                               .weights = weights,
                                               .width = width,
                                               .to = finish,
                                               .start = true,
                                               .finish = true};
  const struct mafat_integer_depthwise_call depthwise = {.rows = &from,
                                                         .out = &to,
                                                         .n_channels = n,
                                                         .in_pixel_bytes = BLOCK,
                                                         .out_pixel_bytes = BLOCK,
                                                         .n_rows = 1,
                                                         .n_cols = COLS,
                                                         .window = mafat_window_square(1, 1, 0),
                                                         .weights = weights,
                                                         .width = width,
                                                         .to = finish};
  for (int i = 0; i < 2 * n_levels; i++) {
    memset(out, 1, sizeof out);
    if (i % 2) levels[i / 2]->depthwise(&depthwise);
    else levels[i / 2]->conv(&conv);
    for (int k = 0; k < n * COLS; k++) {
      int f = k % n, expected = finished(&q, sums[f], multipliers[f], shifts[f]),
          found = out[k / n * BLOCK + f];
      ck_assert_msg(found == expected,
                    "%s: sum %d, multiplier %d, shift %d, zero %d, %d to %d: expected %d, found %d",
                    levels[i / 2]->name, sums[f], multipliers[f], shifts[f], q.zero, q.least,
                    q.most, expected, found);
    }
  }
}

START_TEST(extreme_sums_and_factors_match_the_rule)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  for (int round = 0; round < 100; round++) check_extremes(&rng, round % 2);
}
END_TEST

Suite *integer_functions_suite(void)
{
  Suite *suite = suite_create("integer_functions");
  TCase *t = tcase_create("functions");
  tcase_add_test(t, sums_are_modulo_32_bits);
  tcase_add_loop_test(t, extreme_sums_and_factors_match_the_rule, 0, test_seeds(SEEDS));
  tcase_add_test(t, clip_with_least_above_most_gives_most);
  tcase_add_loop_test(t, tables_match_the_rule, 0, test_seeds(SEEDS));
  tcase_add_loop_test(t, softmax_matches_the_rule, 0, test_seeds(SEEDS));
  tcase_add_loop_test(t, means_match_the_rule, 0, test_seeds(SEEDS));
  tcase_add_loop_test(t, resized_rows_match_the_rule, 0, test_seeds(SEEDS));
  tcase_add_loop_test(t, onnx_resizes_round_to_even, 0, test_seeds(SEEDS));
  tcase_add_loop_test(t, numbers_of_the_finest_scales_are_all_near_0, 0,
                      (int)(sizeof finest / sizeof *finest));
  tcase_add_loop_test(t, rounded_points_are_inside_the_map, 0, test_seeds(SEEDS));
  suite_add_tcase(suite, t);
  return suite;
}
