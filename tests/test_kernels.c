/* Every kernel of every level against a reference that is written as the
 * contract reads: one accumulator, pieces in order, ky, kx, channel, then scale
 * and bias, then the activation; fused where the level says so. Bits must agree.
 * Bytes beside the outputs must stay as they were. */
#include "runner/kernels.h"

#include "predictor/packing.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Suite *kernels_suite(void);

enum { MAX_FLOATS = 1 << 16, GUARD = 16 };

static uint32_t state = 1;

static uint32_t random_bits(void)
{
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static int random_in(int least, int most)
{
  return least + (int)(random_bits() % (uint32_t)(most - least + 1));
}

static void fill(float *x, size_t n)
{
  for (size_t i = 0; i < n; i++) x[i] = (float)(random_bits() >> 8) / 8388608.0f - 1.0f;
}

/* The multiply-add of a level's class. */
static float madd(const struct mafat_kernels *k, float a, float b, float c)
{
  if (k->fused) return fmaf(a, b, c);
  volatile float product = a * b;
  return product + c;
}

static float activated(const struct mafat_kernels *k, float x, enum mafat_activation a)
{
  k->activate(&x, 1, a);
  return x;
}

/* Storage of one random convolution call. */
static float input[8][MAX_FLOATS], weights[MAX_FLOATS], scale[64], bias[64];
static float output[2][MAX_FLOATS], expected[2][MAX_FLOATS];
static const float *in_rows[8][64];
static float *out_rows[2][8];

struct conv_case {
  struct mafat_conv_piece pieces[8];
  struct mafat_conv_call call;
  int n_filters;
};

static void make_conv_case(struct conv_case *c)
{
  struct mafat_conv_call *call = &c->call;
  memset(c, 0, sizeof *c);
  call->size = random_in(1, 4) == 4 ? 5 : random_in(0, 1) ? 3 : random_in(1, 2);
  call->stride = random_in(1, 3);
  call->n_rows = random_in(1, 3);
  call->n_cols = random_in(1, 15);
  call->n_pieces = random_in(1, 4);
  call->start = random_in(0, 3) > 0;
  call->finish = random_in(0, 3) > 0;
  call->activation = (enum mafat_activation)random_in(0, MAFAT_N_ACTIVATIONS - 1);
  c->n_filters = random_in(1, 32);
  call->width = mafat_panel_width(c->n_filters);
  int in_rows_needed = (call->n_rows - 1) * call->stride + call->size;
  for (int p = 0; p < call->n_pieces; p++) {
    int n = random_in(1, 16), pixel = n + random_in(0, 3);
    size_t row = (size_t)((call->n_cols - 1) * call->stride + call->size) * (size_t)pixel;
    fill(input[p], row * (size_t)in_rows_needed);
    for (int r = 0; r < in_rows_needed; r++) in_rows[p][r] = input[p] + row * (size_t)r;
    c->pieces[p] = (struct mafat_conv_piece){in_rows[p], n, pixel};
  }
  call->pieces = c->pieces;
  fill(weights, MAX_FLOATS);
  fill(scale, 64);
  fill(bias, 64);
  call->weights = weights;
  call->scale = scale;
  call->bias = bias;
  fill(output[0], MAX_FLOATS);
  fill(output[1], MAX_FLOATS);
  for (int f = 0; f < c->n_filters; f += 16) {
    int s = call->n_segments++, n = mafat_min(16, c->n_filters - f), pixel = n + random_in(0, 2);
    for (int r = 0; r < call->n_rows; r++) out_rows[s][r] = output[s] + GUARD + r * 1024;
    call->segments[s] = (struct mafat_conv_segment){out_rows[s], n, pixel};
  }
  memcpy(expected, output, sizeof output);
}

static float reference_sum(const struct mafat_kernels *k, const struct conv_case *c, int filter,
                           int row, int col, float sum)
{
  const struct mafat_conv_call *call = &c->call;
  const float *w = call->weights + filter;
  for (int p = 0; p < call->n_pieces; p++)
    for (int ky = 0; ky < call->size; ky++)
      for (int kx = 0; kx < call->size; kx++)
        for (int ch = 0; ch < c->pieces[p].n_channels; ch++, w += call->width)
          sum = madd(k, c->pieces[p].rows[row * call->stride + ky]
                                         [(col * call->stride + kx) * c->pieces[p].pixel_floats + ch],
                     *w, sum);
  return sum;
}

static void reference_conv(const struct mafat_kernels *k, const struct conv_case *c)
{
  const struct mafat_conv_call *call = &c->call;
  for (int f = 0; f < c->n_filters; f++)
    for (int row = 0; row < call->n_rows; row++)
      for (int col = 0; col < call->n_cols; col++) {
        float *y = &expected[f / 16][GUARD + row * 1024 + col * call->segments[f / 16].pixel_floats + f % 16];
        float sum = reference_sum(k, c, f, row, col, call->start ? 0.0f : *y);
        *y = call->finish ? activated(k, madd(k, sum, scale[f], bias[f]), call->activation) : sum;
      }
}

static const struct mafat_kernels *levels[8];

START_TEST(test_conv_matches_the_written_order)
{
  int n_levels = mafat_kernels_list(levels, 8);
  const struct mafat_kernels *k = levels[_i % n_levels];
  state = (uint32_t)_i * 2654435761u + 1;
  struct conv_case c;
  make_conv_case(&c);
  reference_conv(k, &c);
  k->conv(&c.call);
  ck_assert_msg(memcmp(output, expected, sizeof output) == 0,
                "%s case %d: size %d stride %d, %d filters, %d pieces, %d x %d, start %d finish %d, %s", k->name,
                _i, c.call.size, c.call.stride, c.n_filters, c.call.n_pieces, c.call.n_rows, c.call.n_cols,
                c.call.start, c.call.finish, mafat_activation_name(c.call.activation));
}
END_TEST

START_TEST(test_depthwise_matches_the_written_order)
{
  int n_levels = mafat_kernels_list(levels, 8);
  const struct mafat_kernels *k = levels[_i % n_levels];
  state = (uint32_t)_i * 2654435761u + 7;
  int n = random_in(1, 16);
  struct mafat_depthwise_call call = {
      .rows = in_rows[0], .out = out_rows[0], .n_channels = n, .in_pixel_floats = n + random_in(0, 3),
      .out_pixel_floats = n + random_in(0, 2), .n_rows = random_in(1, 3), .n_cols = random_in(1, 15),
      .size = random_in(1, 5), .stride = random_in(1, 2), .weights = weights, .scale = scale, .bias = bias,
      .width = mafat_panel_width(n), .activation = (enum mafat_activation)random_in(0, MAFAT_N_ACTIVATIONS - 1)};
  fill(weights, 1024);
  fill(scale, 64);
  fill(bias, 64);
  fill(input[0], MAX_FLOATS);
  fill(output[0], MAX_FLOATS);
  for (int r = 0; r < (call.n_rows - 1) * call.stride + call.size; r++) in_rows[0][r] = input[0] + r * 1024;
  for (int r = 0; r < call.n_rows; r++) out_rows[0][r] = output[0] + GUARD + r * 1024;
  memcpy(expected, output, sizeof output);
  for (int row = 0; row < call.n_rows; row++)
    for (int col = 0; col < call.n_cols; col++)
      for (int ch = 0; ch < n; ch++) {
        float sum = 0;
        for (int ky = 0; ky < call.size; ky++)
          for (int kx = 0; kx < call.size; kx++)
            sum = madd(k, in_rows[0][row * call.stride + ky][(col * call.stride + kx) * call.in_pixel_floats + ch],
                       weights[(ky * call.size + kx) * call.width + ch], sum);
        expected[0][GUARD + row * 1024 + col * call.out_pixel_floats + ch] =
            activated(k, madd(k, sum, scale[ch], bias[ch]), call.activation);
      }
  k->depthwise(&call);
  ck_assert_msg(memcmp(output[0], expected[0], sizeof output[0]) == 0,
                "%s case %d: size %d stride %d, %d channels, %s", k->name, _i, call.size, call.stride, n,
                mafat_activation_name(call.activation));
}
END_TEST

START_TEST(test_maxpool_sees_only_the_map)
{
  int n_levels = mafat_kernels_list(levels, 8);
  const struct mafat_kernels *k = levels[_i % n_levels];
  state = (uint32_t)_i * 2654435761u + 3;
  int n = random_in(1, 16), cols = random_in(1, 12);
  struct mafat_pool_call call = {.rows = in_rows[0], .n_rows = random_in(1, 3), .in_begin = 0,
                                 .size = random_in(1, 4), .stride = random_in(1, 2), .n_cols = cols,
                                 .n_channels = n, .in_pixel_floats = n, .out_pixel_floats = n,
                                 .out = output[0] + GUARD};
  call.first_col = -random_in(0, call.size - 1);
  call.in_end = call.first_col + (cols - 1) * call.stride + random_in(1, call.size);
  if (call.in_end < 1) call.in_end = 1;
  for (int i = 0; i < 4096; i++) input[0][i] = FLT_MAX; /* outside: must not be seen */
  fill(output[0], 4096);
  for (int r = 0; r < call.n_rows; r++) {
    in_rows[0][r] = input[0] + 64 + r * 1024;
    fill(input[0] + 64 + r * 1024, (size_t)(call.in_end * n));
  }
  memcpy(expected[0], output[0], sizeof output[0]);
  for (int col = 0; col < cols; col++)
    for (int ch = 0; ch < n; ch++) {
      float most = -FLT_MAX;
      for (int r = 0; r < call.n_rows; r++)
        for (int x = 0; x < call.size; x++) {
          int at = call.first_col + col * call.stride + x;
          if (at >= 0 && at < call.in_end && in_rows[0][r][at * n + ch] > most) most = in_rows[0][r][at * n + ch];
        }
      expected[0][GUARD + col * n + ch] = most;
    }
  k->maxpool(&call);
  ck_assert_msg(memcmp(output[0], expected[0], sizeof output[0]) == 0, "%s case %d", k->name, _i);
}
END_TEST

START_TEST(test_add_and_scale_match_their_formulas)
{
  int n_levels = mafat_kernels_list(levels, 8);
  const struct mafat_kernels *k = levels[_i % n_levels];
  state = (uint32_t)_i * 2654435761u + 11;
  int n = random_in(1, 16), pixel = n + random_in(0, 3), cols = random_in(1, 9);
  enum mafat_activation a = (enum mafat_activation)random_in(0, MAFAT_N_ACTIVATIONS - 1);
  bool has_z = random_in(0, 2) > 0;
  struct mafat_add_call call = {.x = input[0], .z = has_z ? input[1] : NULL, .y = output[0] + GUARD,
                                .n_cols = cols, .n_channels = n, .x_pixel_floats = pixel,
                                .z_pixel_floats = 2 * pixel, .y_pixel_floats = n, .alpha = .75f,
                                .beta = -1.25f, .activation = a};
  fill(input[0], 1024);
  fill(input[1], 1024);
  fill(scale, 64);
  fill(bias, 64);
  fill(output[0], 2048);
  fill(output[1], 2048);
  memcpy(expected, output, sizeof output);
  for (int col = 0; col < cols; col++)
    for (int ch = 0; ch < n; ch++) {
      float x = input[0][col * pixel + ch], z = input[1][col * 2 * pixel + ch];
      volatile float scaled = .75f * x;
      expected[0][GUARD + col * n + ch] = activated(k, has_z ? madd(k, -1.25f, z, scaled) : x, a);
      expected[1][GUARD + col * n + ch] = activated(k, madd(k, x, scale[ch], bias[ch]), a);
    }
  k->add(&call);
  k->scale(input[0], pixel, output[1] + GUARD, n, cols, n, scale, bias, a);
  ck_assert_msg(memcmp(output, expected, sizeof output) == 0, "%s case %d: %d channels, z %d, %s", k->name, _i, n,
                has_z, mafat_activation_name(a));
}
END_TEST

/* The formulas of Darknet (and of AlexeyAB's fork) in double precision. */
static double exact_activation(double x, enum mafat_activation a)
{
  switch (a) {
  case MAFAT_LINEAR: return x;
  case MAFAT_LEAKY: return x > 0 ? x : .1 * x;
  case MAFAT_RELU: return x > 0 ? x : 0;
  case MAFAT_RELU6: return x > 0 ? (x < 6 ? x : 6) : 0;
  case MAFAT_LOGISTIC: return 1 / (1 + exp(-x));
  case MAFAT_MISH: return x * tanh(log1p(exp(x)));
  case MAFAT_SWISH: return x / (1 + exp(-x));
  case MAFAT_ELU: return x >= 0 ? x : exp(x) - 1;
  case MAFAT_SELU: return 1.0507 * (x >= 0 ? x : 1.6732 * (exp(x) - 1));
  case MAFAT_TANH: return tanh(x);
  case MAFAT_HARDTAN: return x < -1 ? -1 : x > 1 ? 1 : x;
  case MAFAT_RAMP: return (x > 0 ? x : 0) + .1 * x;
  case MAFAT_LOGGY: return 2 / (1 + exp(-x)) - 1;
  case MAFAT_PLSE: return x < -4 ? .01 * (x + 4) : x > 4 ? .01 * (x - 4) + 1 : .125 * x + .5;
  case MAFAT_STAIR: {
    int n = (int)floor(x);
    return n % 2 == 0 ? floor(x / 2) : (x - n) + floor(x / 2);
  }
  case MAFAT_RELIE: return x > 0 ? x : .01 * x;
  case MAFAT_LHTAN: return x < 0 ? .001 * x : x > 1 ? .001 * (x - 1) + 1 : x;
  default: ck_abort_msg("activation without a formula"); return 0;
  }
}

START_TEST(test_activations_are_darknets)
{
  int n_levels = mafat_kernels_list(levels, 8);
  for (int l = 0; l < n_levels; l++)
    for (float x = -90; x < 90; x += 0.0137f) {
      double want = exact_activation(x, (enum mafat_activation)_i);
      float got = activated(levels[l], x, (enum mafat_activation)_i);
      double tolerance = 4e-7 * fmax(1, fabs(want));
      ck_assert_msg(fabs(got - want) <= tolerance, "%s %s(%g): expected %.9g, found %.9g", levels[l]->name,
                    mafat_activation_name((enum mafat_activation)_i), x, want, got);
    }
}
END_TEST

START_TEST(test_activation_of_an_array_is_that_of_each_element)
{
  int n_levels = mafat_kernels_list(levels, 8);
  for (int l = 0; l < n_levels; l++) {
    fill(input[0], 1003);
    for (int i = 0; i < 1003; i++) input[1][i] = input[0][i] *= 20;
    levels[l]->activate(input[0], 1003, (enum mafat_activation)_i);
    for (int i = 0; i < 1003; i++) {
      float alone = activated(levels[l], input[1][i], (enum mafat_activation)_i);
      ck_assert_msg(memcmp(&alone, &input[0][i], sizeof alone) == 0, "%s %s at %d", levels[l]->name,
                    mafat_activation_name((enum mafat_activation)_i), i);
    }
  }
}
END_TEST

START_TEST(test_activations_survive_extremes)
{
  static const float extremes[] = {0, -0.0f, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-42f, 200, -200};
  int n_levels = mafat_kernels_list(levels, 8);
  for (int l = 0; l < n_levels; l++)
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++)
      ck_assert_msg(!isnan(activated(levels[l], extremes[i], (enum mafat_activation)_i)), "%s(%g)",
                    mafat_activation_name((enum mafat_activation)_i), extremes[i]);
}
END_TEST

START_TEST(test_softmax_sums_to_one)
{
  int n_levels = mafat_kernels_list(levels, 8);
  for (int l = 0; l < n_levels; l++) {
    fill(input[0], 1000);
    for (int i = 0; i < 1000; i++) input[0][i] *= 100;
    levels[l]->softmax(input[0], output[0], 1000, 1);
    double sum = 0, exact = 0;
    for (int i = 0; i < 1000; i++) exact += exp((double)input[0][i] - 100);
    for (int i = 0; i < 1000; i++) {
      sum += output[0][i];
      ck_assert_double_eq_tol(output[0][i], exp((double)input[0][i] - 100) / exact, 1e-6);
    }
    ck_assert_double_eq_tol(sum, 1, 1e-5);
  }
}
END_TEST

START_TEST(test_levels_are_found_by_name)
{
  ck_assert_str_eq(mafat_kernels_find("portable")->name, "portable");
  ck_assert_ptr_eq(mafat_kernels_find("mmx"), NULL);
  ck_assert_ptr_ne(mafat_kernels_find(NULL), NULL);
}
END_TEST

Suite *kernels_suite(void)
{
  Suite *s = suite_create("kernels");
  TCase *t = tcase_create("kernels");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, test_conv_matches_the_written_order, 0, 2000);
  tcase_add_loop_test(t, test_depthwise_matches_the_written_order, 0, 500);
  tcase_add_loop_test(t, test_maxpool_sees_only_the_map, 0, 500);
  tcase_add_loop_test(t, test_add_and_scale_match_their_formulas, 0, 500);
  tcase_add_loop_test(t, test_activations_are_darknets, 0, MAFAT_N_ACTIVATIONS);
  tcase_add_loop_test(t, test_activation_of_an_array_is_that_of_each_element, 0, MAFAT_N_ACTIVATIONS);
  tcase_add_loop_test(t, test_activations_survive_extremes, 0, MAFAT_N_ACTIVATIONS);
  tcase_add_test(t, test_softmax_sums_to_one);
  tcase_add_test(t, test_levels_are_found_by_name);
  suite_add_tcase(s, t);
  return s;
}
