/* Covers predictor/cost/{latency, work, counting, calibration}.c, predictor/kinds/{avgpool,
 * boxes, crop, dense, detection, local, norm, reorg3d, resize, softmax}.c: the latency model: the
 * work that is counted for a layer, its price, and the time that a run waits for weights. */
#include "predictor/cost/latency.h"
#include "predictor/kinds/conv.h"

#include "tests/support/work.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *latency_suite(void);

/* ---- a network, its plan and its layout ---- */

static struct mafat_network *network;
static struct mafat_plan *plan;
static struct mafat_layout *layout;
static struct mafat_calibration calibration;

static void open_case(const char *cfg, const char *text, const struct mafat_plan_options *options)
{
  network = test_network(cfg);
  plan = test_plan_with(network, text, options);
  layout = test_layout(network, plan);
  mafat_calibration_defaults(&calibration, "avx512");
}

static void close_case(void)
{
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_network_close(&network);
}

/* Work of all steps of a layer. */
static struct mafat_work work_of(int layer)
{
  return test_work_of(network, plan, layout, &calibration, layer);
}

/* Work of the last layer of a network. */
static struct mafat_work count(const char *cfg, const char *text, enum mafat_algorithm algorithm)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = algorithm;
  open_case(cfg, text, &options);
  struct mafat_work work = work_of(network->n_layers - 1);
  close_case();
  return work;
}

static struct mafat_latency predict(void)
{
  struct mafat_latency latency;
  ck_assert_int_eq(mafat_latency_predict(&latency, network, plan, layout, &calibration), MAFAT_OK);
  return latency;
}

/* ---- counts ---- */

#define HEAD "[net]\nwidth=28\nheight=20\nchannels=16\n"

START_TEST(test_products_of_a_direct_convolution)
{
  /* 28 columns are two tiles of 14; 40 filters are panels of 32 and 8. The narrow panel is computed
   * in tiles of 6 columns. */
  struct mafat_work w =
      count(HEAD "[convolutional]\nfilters=40\nsize=3\npad=1\n", "1x1/NoCut", MAFAT_DIRECT);
  ck_assert_double_eq(w.n[MAFAT_TERM_CONV_MACS], 20.0 * 28 * 32 * 9 * 16);
  ck_assert_double_eq(w.n[MAFAT_TERM_TAPS], 20.0 * 2 * 9 * 16);
  ck_assert_double_eq(w.n[MAFAT_TERM_NARROW_TAPS], 20.0 * 5 * 9 * 16);
  ck_assert_double_eq(w.n[MAFAT_TERM_TILES], 20.0 * (2 + 5));
  ck_assert_double_eq(w.n[MAFAT_TERM_RUNS], 20.0 * (2 + 5) * 3);
  ck_assert_double_eq(w.n[MAFAT_TERM_UNIT], 2);
  ck_assert_double_eq(w.n[MAFAT_TERM_STEP], 1);
  ck_assert_double_eq(w.n[MAFAT_TERM_POINT_MACS] + w.n[MAFAT_TERM_WINOGRAD_MACS], 0);
}
END_TEST

START_TEST(test_products_of_winograd)
{
  /* 5 x 7 tiles of 4 x 4 outputs, 36 products each. */
  struct mafat_work w =
      count(HEAD "[convolutional]\nfilters=32\nsize=3\npad=1\n", "1x1/NoCut", MAFAT_WINOGRAD);
  ck_assert_double_eq(w.n[MAFAT_TERM_WINOGRAD_MACS], 36.0 * 35 * 32 * 16);
  ck_assert_double_eq(w.n[MAFAT_TERM_WINOGRAD_INPUTS], 35.0 * 16);
  ck_assert_double_eq(w.n[MAFAT_TERM_WINOGRAD_KERNELS], 16.0 * 32);
  ck_assert_double_eq(w.n[MAFAT_TERM_WINOGRAD_OUTPUTS], 35.0 * 32);
  ck_assert_double_eq(w.n[MAFAT_TERM_CONV_MACS], 0);
}
END_TEST

/* Layers of other kinds, and the expected units of one term. */
static const struct {
  const char *layer;
  enum mafat_term term;
  double n;
} others[] = {
    {"[crop]\ncrop_height=12\ncrop_width=18\n", MAFAT_TERM_MOVED, 12 * 18 * 16},
    {"[reorg3d]\nstride=2\n", MAFAT_TERM_MOVED, 20 * 28 * 16},
    {"[batchnorm]\n", MAFAT_TERM_MOVED, 20 * 28 * 16},
    {"[local]\nfilters=4\nsize=3\npad=1\n", MAFAT_TERM_DENSE_MACS, 20.0 * 28 * 4 * 9 * 16},
};

START_TEST(test_work_of_other_kinds)
{
  char cfg[256];
  snprintf(cfg, sizeof cfg, HEAD "%s", others[_i].layer);
  ck_assert_double_eq(count(cfg, "1x1/NoCut", MAFAT_DIRECT).n[others[_i].term], others[_i].n);
}
END_TEST

/* A plan by rows computes as many products as a plan of whole maps, in more steps. */
START_TEST(test_rows_do_the_same_work_in_more_steps)
{
  const char *cfg =
      HEAD "[convolutional]\nfilters=32\nsize=1\n[convolutional]\nfilters=32\nsize=1\n";
  struct mafat_work whole = count(cfg, "1x1/NoCut", MAFAT_DIRECT),
                    rows = count(cfg, "rows1/NoCut", MAFAT_DIRECT);
  ck_assert_double_eq(whole.n[MAFAT_TERM_POINT_MACS], 20.0 * 28 * 32 * 32);
  ck_assert_double_eq(rows.n[MAFAT_TERM_POINT_MACS], whole.n[MAFAT_TERM_POINT_MACS]);
  ck_assert_double_eq(whole.n[MAFAT_TERM_STEP], 1);
  ck_assert_double_ge(rows.n[MAFAT_TERM_STEP], 9);
}
END_TEST

/* Weights are cold if much memory was touched since their last use. A video frame that stays in the
 * arena is not touched between two steps of a layer, so the weights are cold only once. */
START_TEST(test_a_frame_that_waits_is_not_touched)
{
  enum { WEIGHTS_BYTES = 16 * 16 * 9 * 4 };
  const char *cfg = HEAD
      "[convolutional]\nfilters=16\nsize=3\npad=1\n[convolutional]\nfilters=16\nsize=3\npad=1\n";
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  options.frame_bytes = 64 << 20;
  options.frame_stays = true;
  open_case(cfg, "rows2/NoCut", &options);
  ck_assert_double_eq(work_of(0).n[MAFAT_TERM_WEIGHTS_COLD], WEIGHTS_BYTES);
  close_case();
}
END_TEST

/* With two tiles, two rows of the first layer are computed twice (in both tiles), and none of the
 * last layer. */
START_TEST(test_tiles_compute_their_overlap_again)
{
  const char *cfg = HEAD
      "[convolutional]\nfilters=32\nsize=3\npad=1\n[convolutional]\nfilters=32\nsize=3\npad=1\n";
  struct mafat_plan_options options = test_plain_options();
  open_case(cfg, "2x1/NoCut", &options);
  struct mafat_work first = work_of(0), second = work_of(1);
  ck_assert_double_eq(first.n[MAFAT_TERM_CONV_MACS], 22.0 * 28 * 32 * 9 * 16);
  ck_assert_double_eq(second.n[MAFAT_TERM_CONV_MACS], 20.0 * 28 * 32 * 9 * 32);
  close_case();
}
END_TEST

/* Only taps inside the map are counted. */
START_TEST(test_windows_of_a_maxpool_end_with_the_map)
{
  struct mafat_plan_options options = test_plain_options();
  open_case("[net]\nwidth=4\nheight=4\nchannels=16\n[maxpool]\nsize=3\nstride=1\n", "1x1/NoCut",
            &options);
  /* 2 + 3 + 3 + 2 = 10 taps along each axis. */
  ck_assert_double_eq(work_of(0).n[MAFAT_TERM_POOL_TAPS], 10.0 * 10 * 16);
  ck_assert_double_eq(work_of(0).n[MAFAT_TERM_POOL_OUTPUTS], 16.0 * 16);
  close_case();
}
END_TEST

/* Taps inside the map along one axis, summed over all outputs. */
static double seen(struct mafat_taps t, int outputs, int extent)
{
  int n = 0;
  for (int o = 0; o < outputs; o++)
    for (int k = 0; k < t.size; k++) {
      int at = mafat_taps_first(t, o) + k * t.dilation;
      n += at >= 0 && at < extent;
    }
  return n;
}

/* The formula for taps gives the same number as counting them, for windows that reach past both
 * edges of the map, past one, or past none. */
START_TEST(test_taps_of_maxpools)
{
  for (int size = 1; size <= 40; size += 3)
    for (int stride = 1; stride <= size; stride += 2)
      for (int padding = size - 1; padding >= 0 && padding + 20 >= size; padding -= 2) {
        struct mafat_plan_options options = test_plain_options();
        char cfg[200];
        snprintf(cfg, sizeof cfg, HEAD "[maxpool]\nsize=%d\nstride=%d\npadding=%d\n", size, stride,
                 padding);
        open_case(cfg, size % 2 ? "1x1/NoCut" : "rows2/NoCut", &options);
        const struct mafat_layer *l = &network->layers[0];
        ck_assert_double_eq(work_of(0).n[MAFAT_TERM_POOL_TAPS],
                            seen(l->window.y, l->out.h, l->in.h) *
                                seen(l->window.x, l->out.w, l->in.w) * l->in.c);
        close_case();
      }
}
END_TEST

/* Two threads each have half of the products. */
START_TEST(test_threads_share_a_step)
{
  struct mafat_plan_options options = test_plain_options();
  const char *cfg = HEAD "[convolutional]\nfilters=128\nsize=1\n";
  open_case(cfg, "1x1/NoCut", &options);
  double alone = work_of(0).n[MAFAT_TERM_POINT_MACS];
  close_case();
  options.n_threads = 2;
  open_case(cfg, "1x1/NoCut", &options);
  ck_assert_double_eq(work_of(0).n[MAFAT_TERM_POINT_MACS], alone / 2);
  close_case();
}
END_TEST

/* Two threads each have half of the products of a depthwise layer, alone or fused into a 1x1. */
START_TEST(test_threads_share_a_depthwise_layer)
{
  struct mafat_plan_options options = test_plain_options();
  const char *depthwise = "[convolutional]\nfilters=16\nsize=3\npad=1\ngroups=16\n",
             *point = "[convolutional]\nfilters=32\nsize=1\n";
  char cfg[512];
  snprintf(cfg, sizeof cfg, HEAD "%s%s", depthwise,
           _i ? point : ""); /* alone, or fused into the 1x1 */
  open_case(cfg, "1x1/NoCut", &options);
  struct mafat_work alone = work_of(TEST_ALL_LAYERS);
  close_case();
  options.n_threads = 2;
  open_case(cfg, "1x1/NoCut", &options);
  struct mafat_work shared = work_of(TEST_ALL_LAYERS);
  ck_assert_double_eq(shared.n[MAFAT_TERM_DEPTHWISE_MACS], alone.n[MAFAT_TERM_DEPTHWISE_MACS] / 2);
  ck_assert_double_eq(shared.n[MAFAT_TERM_POINT_MACS], alone.n[MAFAT_TERM_POINT_MACS] / 2);
  close_case();
}
END_TEST

/* mafat_conv_blocks returns a number of blocks of rows for which all threads have equally many
 * units, if the rows allow it. */
START_TEST(test_all_threads_have_as_many_units)
{
  /* together: rows that stay together; blocks: expected number of blocks of rows */
  static const struct {
    int rows, per_call, panels, threads, together, blocks;
  } cases[] = {{40, 8, 1, 2, 1, 6},  {40, 8, 2, 2, 1, 5}, {10, 3, 1, 2, 1, 4}, {10, 10, 1, 3, 1, 3},
               {10, 10, 3, 3, 1, 1}, {2, 2, 1, 4, 1, 1},  {4, 1, 1, 3, 1, 4},  {8, 4, 1, 3, 2, 3},
               {4, 4, 1, 3, 2, 1},   {40, 8, 3, 1, 1, 5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_int_eq(mafat_conv_blocks(cases[i].rows, cases[i].rows / cases[i].together,
                                       cases[i].per_call, cases[i].panels, cases[i].threads),
                     cases[i].blocks);
}
END_TEST

/* ---- prices ---- */

/* Raising the price of a term raises the predicted time by the counted units. */
START_TEST(test_every_price_that_is_counted_counts)
{
  struct test_rng rng = test_rng(_i);
  struct test_network_style style = test_network_style();
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  test_random_plan(&rng, n, n->n_layers, text, sizeof text);
  mafat_network_close(&n);
  open_case(cfg, text, NULL);
  struct mafat_work work = work_of(TEST_ALL_LAYERS);
  struct mafat_latency before = predict();
  ck_assert_double_ge(before.total_ms, before.compute_ms);
  for (int t = 0; t < MAFAT_N_TERMS; t++) {
    calibration.ns[t] += 1000;
    struct mafat_latency after = predict();
    ck_assert_double_ge(work.n[t], 0);
    double more = after.compute_ms - before.compute_ms;
    if (more < work.n[t] * 1e-3 * .999999 - 1e-9 || more > work.n[t] * 1e-3 * 1.000001 + 1e-9)
      test_fail_case(cfg, text, "%s: %g of them cost %g ms", mafat_term_name((enum mafat_term)t),
                     work.n[t], more);
    calibration.ns[t] -= 1000;
  }
  close_case();
}
END_TEST

/* All names of terms differ. */
START_TEST(test_terms_have_names_of_their_own)
{
  for (int t = 0; t < MAFAT_N_TERMS; t++) {
    const char *name = mafat_term_name((enum mafat_term)t);
    ck_assert_ptr_nonnull(name);
    ck_assert_uint_gt(strlen(name), 0);
    for (int u = 0; u < t; u++) ck_assert_str_ne(name, mafat_term_name((enum mafat_term)u));
  }
}
END_TEST

/* ---- reading ---- */

#define DEEP \
  "[net]\nwidth=16\nheight=16\nchannels=64\n" \
  "[convolutional]\nfilters=512\nsize=3\npad=1\n[convolutional]\nfilters=256\nsize=3\npad=1\n" \
  "[convolutional]\nfilters=512\nsize=3\npad=1\n"

static void open_streamed(const char *text, bool packed)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.packed = packed;
  open_case(DEEP, text, &options);
}

/* With kept weights nothing is read, and no time is spent waiting. */
START_TEST(test_kept_weights_are_not_waited_for)
{
  open_streamed("1x1/NoCut", true);
  struct mafat_latency latency = predict();
  ck_assert_double_eq(latency.reading_ms, 0);
  ck_assert_double_eq(latency.waiting_ms, 0);
  ck_assert_double_eq(latency.total_ms, latency.compute_ms);
  close_case();
}
END_TEST

/* A disk without cost adds no waiting time. */
START_TEST(test_a_fast_disk_is_not_waited_for)
{
  open_streamed("panels:streamed/NoCut", _i);
  calibration.disk_ns = calibration.disk_wait_ns = calibration.read_ns = 0;
  calibration.copy_ns = calibration.pack_ns = 0;
  struct mafat_latency latency = predict();
  ck_assert_double_eq(latency.waiting_ms, 0);
  ck_assert_double_eq_tol(latency.total_ms, latency.compute_ms, 1e-9);
  close_case();
}
END_TEST

/* With a very slow disk, the total time is about the time of reading. */
START_TEST(test_a_slow_disk_is_all_there_is)
{
  open_streamed(_i ? "panels:streamed/NoCut" : "1x1:loaded/NoCut", true);
  double bytes = (double)layout->bytes_read;
  calibration.disk_ns = 1000;
  struct mafat_latency latency = predict();
  ck_assert_double_eq_tol(latency.reading_ms, bytes * 1e-3, bytes * 1e-9);
  ck_assert_double_ge(latency.total_ms, latency.reading_ms);
  /* All steps but the last overlap with reads. */
  ck_assert_double_le(latency.total_ms, latency.reading_ms * 1.02 + latency.compute_ms);
  ck_assert_double_eq_tol(latency.waiting_ms, latency.total_ms - latency.compute_ms,
                          latency.total_ms * .02);
  close_case();
}
END_TEST

/* A slower disk never makes a run faster. */
START_TEST(test_a_slower_disk_never_helps)
{
  open_streamed("rows2:streamed/1/panels:streamed/2/rows1:loaded", _i);
  double before = 0;
  for (calibration.disk_ns = .01; calibration.disk_ns < 1000; calibration.disk_ns *= 3) {
    struct mafat_latency latency = predict();
    ck_assert_double_ge(latency.total_ms, before);
    ck_assert_double_ge(latency.total_ms * 1.000001, latency.reading_ms);
    ck_assert_double_ge(latency.total_ms, latency.compute_ms);
    before = latency.total_ms;
  }
  close_case();
}
END_TEST

Suite *latency_suite(void)
{
  Suite *suite = suite_create("latency");
  TCase *tcase = tcase_create("latency");
  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_products_of_a_direct_convolution);
  tcase_add_test(tcase, test_products_of_winograd);
  tcase_add_loop_test(tcase, test_work_of_other_kinds, 0, (int)(sizeof others / sizeof *others));
  tcase_add_test(tcase, test_rows_do_the_same_work_in_more_steps);
  tcase_add_test(tcase, test_tiles_compute_their_overlap_again);
  tcase_add_test(tcase, test_a_frame_that_waits_is_not_touched);
  tcase_add_test(tcase, test_windows_of_a_maxpool_end_with_the_map);
  tcase_add_test(tcase, test_taps_of_maxpools);
  tcase_add_test(tcase, test_threads_share_a_step);
  tcase_add_loop_test(tcase, test_threads_share_a_depthwise_layer, 0, 2);
  tcase_add_test(tcase, test_all_threads_have_as_many_units);
  tcase_add_loop_test(tcase, test_every_price_that_is_counted_counts, 0, test_seeds(60));
  tcase_add_test(tcase, test_terms_have_names_of_their_own);
  tcase_add_test(tcase, test_kept_weights_are_not_waited_for);
  tcase_add_loop_test(tcase, test_a_fast_disk_is_not_waited_for, 0, 2);
  tcase_add_loop_test(tcase, test_a_slow_disk_is_all_there_is, 0, 2);
  tcase_add_loop_test(tcase, test_a_slower_disk_never_helps, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
