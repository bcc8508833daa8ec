/* Covers runner/kernels/{kernels, portable}.c: compares every kernel of every level (portable,
 * avx2, ...: a set of kernels for one instruction set) with a scalar reference (kernel_reference.h;
 * one for levels that use fused multiply-add, one for the others). Bits must be equal, and bytes
 * around the outputs unchanged. kernel_check does the same with more calls. */
#include "runner/kernels/kernels.h"

#include "predictor/plan/packing.h"
#include "tests/kernels/kernel_exact.h"
#include "tests/kernels/kernel_reference.h"
#include "tests/support/support.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Suite *kernels_suite(void);

enum { MAX_FLOATS = 1 << 16, MAX_OUTPUTS = 1 << 15, GUARD = 16 };

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

/* An activation with random parameters. */
static struct mafat_activating some_activation(enum mafat_activation kind)
{
  float p[2];
  fill(p, 2);
  return mafat_exact_activating(kind, p[0], p[1]);
}

static struct mafat_activating random_activation(void)
{
  return some_activation((enum mafat_activation)random_in(0, MAFAT_EXACT_GENTLE - 1));
}

static float activated(const struct mafat_kernels *k, float x, struct mafat_activating a)
{
  k->activate(&x, 1, a);
  return x;
}

enum { MAX_IN_ROWS = 64, MAX_OUT_ROWS = 36, OUT_ROW_FLOATS = 512 };

/* Buffers of one random call. */
static float input[8][MAX_FLOATS], weights[MAX_FLOATS], scale[64], bias[64];
static float output[2][MAX_OUTPUTS], expected[2][MAX_OUTPUTS];
static const float *in_rows[8][MAX_IN_ROWS];
static float *out_rows[2][MAX_OUT_ROWS];

static const struct mafat_kernels *levels[8];

/* Returns the kernel level that loop test `i` uses, seeds the random numbers and fills the
 * buffers. */
static const struct mafat_kernels *begin_case(int i, uint32_t salt)
{
  int n_levels = mafat_kernels_list(levels, 8);
  state = (uint32_t)i * 2654435761u + salt;
  fill(scale, 64);
  fill(bias, 64);
  fill(weights, MAX_FLOATS);
  fill(output[0], MAX_OUTPUTS);
  fill(output[1], MAX_OUTPUTS);
  for (int s = 0; s < 2; s++)
    for (int r = 0; r < MAX_OUT_ROWS; r++) out_rows[s][r] = output[s] + GUARD + r * OUT_ROW_FLOATS;
  return levels[i % n_levels];
}

/* Runs the call twice: the reference's kernel writes to `expected`, the kernel of level k to
 * `output`. */
#define RUN_BOTH(k, CALL) \
  do { \
    static float before[2][MAX_OUTPUTS]; \
    memcpy(before, output, sizeof output); \
    mafat_reference_of(k)->CALL; \
    memcpy(expected, output, sizeof output); \
    memcpy(output, before, sizeof output); \
    (k)->CALL; \
  } while (0)

static bool bits_agree(void)
{
  return memcmp(output, expected, sizeof output) == 0;
}

struct conv_case {
  struct mafat_conv_block_slice block_slices[8];
  struct mafat_conv_call call;
  int n_filters, n_channels;
};

/* A random window of at most this size and stride. Sometimes it is not square, or is dilated. */
static struct mafat_window random_window(int size, int stride)
{
  struct mafat_window w = mafat_window_square(random_in(1, size), random_in(1, stride), 0);
  if (random_in(0, 2) == 0)
    w.x = mafat_window_square(random_in(1, size), random_in(1, stride), 0).x;
  if (random_in(0, 2) == 0) w.y.dilation = random_in(1, 2);
  if (random_in(0, 2) == 0) w.x.dilation = random_in(1, 2);
  return w;
}

/* Fills inputs, weights and outputs for the call's shape. */
static void fill_conv_case(struct conv_case *c)
{
  struct mafat_conv_call *call = &c->call;
  int n_rows = mafat_taps_inputs(call->window.y, call->n_rows);
  for (int p = 0; p < call->n_block_slices; p++) {
    int n = random_in(1, 16), pixel = n + random_in(0, 3);
    size_t row = (size_t)mafat_taps_inputs(call->window.x, call->n_cols) * (size_t)pixel;
    fill(input[p], row * (size_t)n_rows);
    for (int r = 0; r < n_rows; r++) in_rows[p][r] = input[p] + row * (size_t)r;
    c->block_slices[p] = (struct mafat_conv_block_slice){in_rows[p], n, pixel};
    c->n_channels += n;
  }
  c->n_filters = random_in(1, 32);
  call->block_slices = c->block_slices;
  call->width = mafat_panel_width(c->n_filters);
  call->weights = weights;
  call->scale = scale;
  call->bias = bias;
  call->activation = random_activation();
  for (int f = 0; f < c->n_filters; f += 16) {
    int s = call->n_segments++, n = mafat_min(16, c->n_filters - f);
    call->segments[s] = (struct mafat_conv_segment){out_rows[s], n, n + random_in(0, 2)};
  }
}

static void check_conv_case(const struct mafat_kernels *k, const struct conv_case *c, int i)
{
  RUN_BOTH(k, conv(&c->call));
  ck_assert_msg(
      bits_agree(),
      "%s case %d: size %d x %d, %d filters, %d pieces, %d x %d, start %d finish %d pool %d, %s",
      k->name, i, c->call.window.y.size, c->call.window.x.size, c->n_filters,
      c->call.n_block_slices, c->call.n_rows, c->call.n_cols, c->call.start, c->call.finish,
      c->call.pool, mafat_activation_name(c->call.activation.kind));
}

START_TEST(test_conv_matches_the_written_order)
{
  const struct mafat_kernels *k = begin_case(_i, 1);
  struct conv_case c = {.call = {.window = random_window(random_in(1, 4) == 4 ? 5 : 3, 3),
                                 .n_rows = random_in(1, 3),
                                 .n_cols = random_in(1, 15),
                                 .n_block_slices = random_in(1, 4),
                                 .start = random_in(0, 3) > 0,
                                 .finish = random_in(0, 3) > 0}};
  fill_conv_case(&c);
  check_conv_case(k, &c, _i);
}
END_TEST

START_TEST(test_pooled_conv_stores_the_largest_of_each_2_x_2)
{
  const struct mafat_kernels *k = begin_case(_i, 5);
  struct conv_case c = {.call = {.window = random_window(5, 2),
                                 .n_rows = random_in(1, 5),
                                 .n_cols = random_in(1, 31),
                                 .n_block_slices = random_in(1, 2),
                                 .start = true,
                                 .finish = true,
                                 .pool = true}};
  fill_conv_case(&c);
  check_conv_case(k, &c, _i);
}
END_TEST

START_TEST(test_conv_of_1_x_1_in_many_rows)
{
  const struct mafat_kernels *k = begin_case(_i, 9);
  struct conv_case c = {.call = {.window = mafat_window_square(1, 1, 0),
                                 .n_rows = 36,
                                 .n_cols = random_in(1, 15),
                                 .n_block_slices = random_in(1, 3),
                                 .start = random_in(0, 3) > 0,
                                 .finish = random_in(0, 3) == 0}};
  fill_conv_case(&c);
  check_conv_case(k, &c, _i);
}
END_TEST

START_TEST(test_depthwise_matches_the_written_order)
{
  const struct mafat_kernels *k = begin_case(_i, 7);
  int n = random_in(1, 16);
  struct mafat_depthwise_call call = {.rows = in_rows[0],
                                      .out = out_rows[0],
                                      .n_channels = n,
                                      .in_pixel_floats = n + random_in(0, 3),
                                      .out_pixel_floats = n + random_in(0, 2),
                                      .n_rows = random_in(1, 3),
                                      .n_cols = random_in(1, 15),
                                      .window = random_window(5, 2),
                                      .weights = weights,
                                      .scale = scale,
                                      .bias = bias,
                                      .width = mafat_panel_width(n),
                                      .activation = random_activation()};
  fill(input[0], MAX_FLOATS);
  for (int r = 0; r < mafat_taps_inputs(call.window.y, call.n_rows); r++)
    in_rows[0][r] = input[0] + r * 1024;
  RUN_BOTH(k, depthwise(&call));
  ck_assert_msg(bits_agree(), "%s case %d: size %d x %d, %d channels, %s", k->name, _i,
                call.window.y.size, call.window.x.size, n,
                mafat_activation_name(call.activation.kind));
}
END_TEST

START_TEST(test_maxpool_sees_only_the_map)
{
  const struct mafat_kernels *k = begin_case(_i, 3);
  int n = random_in(1, 16), cols = random_in(1, 12);
  struct mafat_pool_call call = {.rows = in_rows[0], .n_rows = random_in(1, 3), .in_begin = 0,
                                 .taps = random_window(4, 2).x, .n_cols = cols,
                                 .n_channels = n, .in_pixel_floats = n, .out_pixel_floats = n,
                                 .out = output[0] + GUARD};
  call.first_col = -random_in(0, call.taps.size - 1);
  call.in_end = call.first_col + (cols - 1) * call.taps.stride + random_in(1, call.taps.size);
  if (call.in_end < 1) call.in_end = 1;
  for (int i = 0; i < 4096; i++) input[0][i] = FLT_MAX; /* outside of the map: must not be read */
  for (int r = 0; r < call.n_rows; r++) {
    in_rows[0][r] = input[0] + 64 + r * 1024;
    fill(input[0] + 64 + r * 1024, (size_t)(call.in_end * n));
  }
  RUN_BOTH(k, maxpool(&call));
  ck_assert_msg(bits_agree(), "%s case %d", k->name, _i);
  for (int i = 0; i < cols * n; i++)
    ck_assert_msg(call.out[i] < 1, "%s case %d saw beyond the map", k->name, _i);
}
END_TEST

START_TEST(test_blend_and_scale_match_their_formulas)
{
  const struct mafat_kernels *k = begin_case(_i, 11);
  int n = random_in(1, 16), pixel = n + random_in(0, 3), cols = random_in(1, 9);
  struct mafat_activating a = random_activation();
  bool has_z = random_in(0, 2) > 0;
  struct mafat_blend_call call = {.blend = (enum mafat_blend)random_in(0, MAFAT_N_BLENDS - 1),
                                  .x = input[0],
                                  .z = has_z ? input[1] : NULL,
                                  .y = output[0] + GUARD,
                                  .z_single = random_in(0, 3) == 0,
                                  .n_cols = cols,
                                  .n_channels = n,
                                  .x_pixel_floats = pixel,
                                  .z_pixel_floats = random_in(0, 2) * pixel,
                                  .y_pixel_floats = n,
                                  .alpha = .75f,
                                  .beta = -1.25f,
                                  .activation = a};
  fill(input[0], 1024);
  fill(input[1], 1024);
  RUN_BOTH(k, blend(&call));
  ck_assert_msg(bits_agree(), "%s blend, case %d: %d channels, z %d, %s", k->name, _i, n, has_z,
                mafat_activation_name(a.kind));
  RUN_BOTH(k, scale(input[0], pixel, output[1] + GUARD, n, cols, n, scale, bias, a));
  ck_assert_msg(bits_agree(), "%s scale, case %d: %d channels, %s", k->name, _i, n,
                mafat_activation_name(a.kind));
}
END_TEST

/* Winograd transforms give the same bits as the reference, and are close to a result in double
 * precision. */

static void assert_near(float found, struct mafat_exact exact, const char *what, int i)
{
  ck_assert_msg(fabs(found - exact.value) <= 1e-6 * exact.magnitude,
                "%s, case %d: expected %.9g, found %.9g", what, i, exact.value, found);
}

/* Winograd size of loop test `i`; the tests cycle through all sizes. */
static const struct mafat_winograd *winograd_of_case(int i)
{
  return mafat_winograd_find((enum mafat_winograd_size)(i / 2 % MAFAT_N_WINOGRADS));
}

START_TEST(test_winograd_weights_are_transformed)
{
  const struct mafat_kernels *k = begin_case(_i, 13);
  const struct mafat_winograd *g = winograd_of_case(_i);
  int n = random_in(1, 12), width = 8 * random_in(1, 4);
  size_t point = (size_t)(n * width + random_in(0, 9));
  float *values = output[0] + GUARD;
  RUN_BOTH(k, winograd[g->size].weights(weights, n, width, values, point));
  ck_assert_msg(bits_agree(), "%s case %d: %d channels, width %d", k->name, _i, n, width);
  for (int lane = 0; lane < n * width; lane++) {
    double taps[9];
    struct mafat_exact exact[64];
    for (int tap = 0; tap < 9; tap++) taps[tap] = weights[tap * n * width + lane];
    mafat_exact_winograd_weights(g->size, taps, exact);
    for (int p = 0; p < g->points; p++)
      assert_near(values[(size_t)p * point + (size_t)lane], exact[p], k->name, _i);
  }
}
END_TEST

START_TEST(test_winograd_input_is_transformed)
{
  const struct mafat_kernels *k = begin_case(_i, 17);
  const struct mafat_winograd *g = winograd_of_case(_i);
  int n = random_in(1, 16), n_tiles = random_in(1, 5), pixel = n + random_in(0, 3),
      all = g->outputs * n_tiles;
  struct mafat_winograd_input_call call = {.rows = in_rows[0],
                                           .n_cols = random_in(all - g->outputs + 1, all + 2),
                                           .n_channels = n,
                                           .pixel_floats = pixel,
                                           .n_tiles = n_tiles,
                                           .values = output[0] + GUARD,
                                           .tile_floats = n + random_in(0, 3)};
  call.point_floats = (size_t)(n_tiles * call.tile_floats);
  fill(input[0], MAX_FLOATS);
  for (int y = 0; y < g->window; y++) in_rows[0][y] = input[0] + y * 1024;
  RUN_BOTH(k, winograd[g->size].input(&call));
  ck_assert_msg(bits_agree(), "%s case %d: %d channels, %d tiles, %d columns", k->name, _i, n,
                n_tiles, call.n_cols);
  for (int tile = 0; tile < n_tiles; tile++)
    for (int ch = 0; ch < n; ch++) {
      double d[64];
      struct mafat_exact exact[64];
      for (int i = 0; i < g->points; i++) {
        int y = i / g->window, x = g->outputs * tile + i % g->window;
        d[i] = x < call.n_cols ? in_rows[0][y][x * pixel + ch] : 0;
      }
      mafat_exact_winograd_input(g->size, d, exact);
      for (int p = 0; p < g->points; p++)
        assert_near(
            call.values[(size_t)p * call.point_floats + (size_t)(tile * call.tile_floats + ch)],
            exact[p], k->name, _i);
    }
}
END_TEST

START_TEST(test_winograd_output_is_transformed)
{
  const struct mafat_kernels *k = begin_case(_i, 19);
  const struct mafat_winograd *g = winograd_of_case(_i);
  int n = random_in(1, 16), n_tiles = random_in(1, 4), side = g->outputs;
  struct mafat_winograd_output_call call = {.values = input[0],
                                            .tile_floats = n + random_in(0, 3),
                                            .n_tiles = n_tiles,
                                            .rows = out_rows[0],
                                            .n_rows = random_in(1, side),
                                            .n_cols = random_in(side * n_tiles - side + 1,
                                                                side * n_tiles),
                                            .n_filters = n,
                                            .pixel_floats = n + random_in(0, 3),
                                            .scale = scale,
                                            .bias = bias,
                                            .pool = random_in(0, 1),
                                            .activation = random_activation()};
  call.point_floats = (size_t)(n_tiles * call.tile_floats);
  fill(input[0], MAX_FLOATS);
  RUN_BOTH(k, winograd[g->size].output(&call));
  ck_assert_msg(bits_agree(), "%s case %d: %d filters, %d x %d, pool %d, %s", k->name, _i, n,
                call.n_rows, call.n_cols, call.pool, mafat_activation_name(call.activation.kind));
  call.pool = false;
  call.activation.kind = MAFAT_LINEAR;
  k->winograd[g->size].output(&call);
  for (int col = 0; col < call.n_cols; col++)
    for (int f = 0; f < n; f++) {
      double m[64];
      struct mafat_exact exact[36];
      for (int p = 0; p < g->points; p++)
        m[p] =
            input[0][(size_t)p * call.point_floats + (size_t)(col / side * call.tile_floats + f)];
      mafat_exact_winograd_output(g->size, m, exact);
      for (int row = 0; row < call.n_rows; row++)
        assert_near(out_rows[0][row][col * call.pixel_floats + f],
                    mafat_exact_finish(exact[row * side + col % side], scale[f], bias[f],
                                       &call.activation),
                    k->name, _i);
    }
}
END_TEST

START_TEST(test_products_match_the_written_order)
{
  const struct mafat_kernels *k = begin_case(_i, 23);
  int n = random_in(1, 40), n_tiles = random_in(1, 17), width = 8 * random_in(1, 4),
      points = random_in(1, 3);
  int tile = n + random_in(0, 5), how = random_in(0, 2);
  struct mafat_product_call call = {.values = input[0],
                                    .values_point = (size_t)(n_tiles * tile + random_in(0, 9)),
                                    .tile_floats = tile,
                                    .weights = weights,
                                    .weights_point = (size_t)(n * width),
                                    .sums = output[0] + GUARD,
                                    .sums_point = (size_t)(n_tiles * width + random_in(0, 9)),
                                    .n_points = points,
                                    .n_tiles = n_tiles,
                                    .n_channels = n,
                                    .width = width,
                                    .start = how == 1,
                                    .apart = how == 2};
  fill(input[0], MAX_FLOATS);
  RUN_BOTH(k, product(&call));
  ck_assert_msg(bits_agree(),
                "%s case %d: %d points, %d tiles, %d channels, width %d, start %d apart %d",
                k->name, _i, points, n_tiles, n, width, call.start, call.apart);
}
END_TEST

START_TEST(test_activations_are_what_they_are_called)
{
  int n_levels = mafat_kernels_list(levels, 8);
  struct mafat_activating a = some_activation((enum mafat_activation)_i);
  for (int l = 0; l < n_levels; l++)
    for (float x = -90; x < 90; x += 0.0137f) {
      double want = mafat_exact_activation(x, &a);
      float got = activated(levels[l], x, a);
      double tolerance = 4e-7 * fmax(1, fabs(want));
      ck_assert_msg(fabs(got - want) <= tolerance, "%s %s(%g): expected %.9g, found %.9g",
                    levels[l]->name, mafat_activation_name((enum mafat_activation)_i), x, want,
                    got);
    }
}
END_TEST

START_TEST(test_activation_of_an_array_is_that_of_each_element)
{
  int n_levels = mafat_kernels_list(levels, 8);
  struct mafat_activating a = some_activation((enum mafat_activation)_i);
  for (int l = 0; l < n_levels; l++) {
    fill(input[0], 1003);
    for (int i = 0; i < 1003; i++) input[1][i] = input[0][i] *= 20;
    levels[l]->activate(input[0], 1003, a);
    for (int i = 0; i < 1003; i++) {
      float alone = activated(levels[l], input[1][i], a);
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
  struct mafat_activating a = some_activation((enum mafat_activation)_i);
  for (int l = 0; l < n_levels; l++)
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++)
      ck_assert_msg(!isnan(activated(levels[l], extremes[i], a)), "%s(%g)",
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

START_TEST(test_a_level_is_the_best_below_its_name)
{
  int n_levels = mafat_kernels_list(levels, 8);
  ck_assert_int_ge(n_levels, 1);
  for (int l = 0; l < n_levels; l++)
    ck_assert_ptr_eq(mafat_kernels_find(levels[l]->name), levels[l]);
  ck_assert_ptr_eq(mafat_kernels_find(NULL), levels[n_levels - 1]);
#if defined(__x86_64__)
  /* Every processor with AVX-512 has AVX2. */
  for (int l = 0; l < n_levels; l++)
    if (strcmp(levels[l]->name, "avx512") == 0) ck_assert_str_eq(levels[l - 1]->name, "avx2");
  ck_assert_ptr_ne(mafat_kernels_find("avx512"), NULL);
#endif
}
END_TEST

/* All 65536 half-precision floats, with NaNs and infinities, are converted to floats of the same
 * value. */
START_TEST(test_every_half_is_widened_to_its_value)
{
  enum { WIDTH = 32, ROWS = 65536 / WIDTH };
  static uint16_t halves[ROWS * WIDTH];
  static float wanted[ROWS * WIDTH], found[ROWS * WIDTH];
  const struct mafat_kernels *all[8];
  int n_levels = mafat_kernels_list(all, 8);
  for (int i = 0; i < ROWS * WIDTH; i++) halves[i] = (uint16_t)i;
  mafat_reference_fused.widen[MAFAT_F16](halves, ROWS, WIDTH, wanted);
  for (int l = 0; l < n_levels; l++) {
    for (int width = MAFAT_PANEL_STEP; width <= WIDTH; width *= 2) {
      memset(found, 0x55, sizeof found);
      all[l]->widen[MAFAT_F16](halves, ROWS * WIDTH / width, width, found);
      for (int i = 0; i < ROWS * WIDTH; i++) {
        bool no_number = isnan(wanted[i]);
        ck_assert_msg(no_number ? isnan(found[i])
                                : memcmp(&found[i], &wanted[i], sizeof *found) == 0,
                      "%s: 0x%04x is %g", all[l]->name, (unsigned)i, (double)found[i]);
        uint32_t bits,
            quiet = (uint32_t)(i & 0x8000) << 16 | 0x7fc00000u | (uint32_t)(i & 0x3ff) << 13;
        memcpy(&bits, &found[i], sizeof bits);
        ck_assert_msg(!no_number || bits == quiet, "%s: 0x%04x is 0x%08x", all[l]->name,
                      (unsigned)i, bits);
      }
    }
  }
}
END_TEST

START_TEST(test_only_narrow_weights_are_widened)
{
  const struct mafat_kernels *all[8];
  int n_levels = mafat_kernels_list(all, 8);
  for (int l = 0; l < n_levels; l++)
    for (int t = 0; t < MAFAT_N_DTYPES; t++)
      ck_assert_int_eq(all[l]->widen[t] != NULL, t == MAFAT_F16 || t == MAFAT_I8 || t == MAFAT_I4);
}
END_TEST

Suite *kernels_suite(void)
{
  Suite *s = suite_create("kernels");
  TCase *t = tcase_create("kernels");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, test_conv_matches_the_written_order, 0, test_seeds(2000));
  tcase_add_loop_test(t, test_pooled_conv_stores_the_largest_of_each_2_x_2, 0, test_seeds(500));
  tcase_add_loop_test(t, test_conv_of_1_x_1_in_many_rows, 0, test_seeds(300));
  tcase_add_loop_test(t, test_depthwise_matches_the_written_order, 0, test_seeds(500));
  tcase_add_loop_test(t, test_maxpool_sees_only_the_map, 0, test_seeds(500));
  tcase_add_loop_test(t, test_blend_and_scale_match_their_formulas, 0, test_seeds(500));
  tcase_add_loop_test(t, test_winograd_weights_are_transformed, 0, test_seeds(60));
  tcase_add_loop_test(t, test_winograd_input_is_transformed, 0, test_seeds(200));
  tcase_add_loop_test(t, test_winograd_output_is_transformed, 0, test_seeds(200));
  tcase_add_loop_test(t, test_products_match_the_written_order, 0, test_seeds(400));
  tcase_add_loop_test(t, test_activations_are_what_they_are_called, 0, MAFAT_N_KERNEL_ACTIVATIONS);
  tcase_add_loop_test(t, test_activation_of_an_array_is_that_of_each_element, 0,
                      MAFAT_N_KERNEL_ACTIVATIONS);
  tcase_add_loop_test(t, test_activations_survive_extremes, 0, MAFAT_N_KERNEL_ACTIVATIONS);
  tcase_add_test(t, test_every_half_is_widened_to_its_value);
  tcase_add_test(t, test_only_narrow_weights_are_widened);
  tcase_add_test(t, test_softmax_sums_to_one);
  tcase_add_test(t, test_levels_are_found_by_name);
  tcase_add_test(t, test_a_level_is_the_best_below_its_name);
  suite_add_tcase(s, t);
  return s;
}
