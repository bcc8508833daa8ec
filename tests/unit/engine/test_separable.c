/* Covers runner/engine/kinds/conv_depthwise.c: fused depthwise and 1x1 layers give the same bits as
 * separate layers, for the shapes of Daghero et al. (2024) and for odd ones. */
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "runner/weights/packer.h"
#include "search/best/best.h"

#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *separable_suite(void);

static char cfg[4096];

static void convolution(int filters, int size, int stride, int pad, int groups)
{
  size_t at = strlen(cfg);
  snprintf(
      cfg + at, sizeof cfg - at,
      "[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npadding=%d\ngroups=%d\nactivation=relu\n",
      filters, size, stride, pad, groups);
}

static float *run(const struct mafat_network *n, struct mafat_weights *w, const char *text,
                  bool apart)
{
  struct mafat_plan_options options;
  struct mafat_executor_options eo;
  struct mafat_executor *e;
  struct mafat_diagnostic d;
  mafat_plan_defaults(&options);
  options.keep_all = apart;
  struct mafat_plan *plan = test_plan_with(n, text, &options);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&eo);
  int code = mafat_executor_open(&e, n, plan, layout, w, &eo, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  size_t inputs = (size_t)mafat_shape_elements(mafat_network_picture_shape(n));
  size_t outputs = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out);
  float *input = malloc(inputs * sizeof *input), *out = malloc(outputs * sizeof *out);
  struct test_rng rng = test_rng(99);
  for (size_t i = 0; i < inputs; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  mafat_executor_set_input(e, input);
  code = mafat_executor_run(e, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  mafat_executor_read_output(e, n->n_layers - 1, out);
  free(input);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return out;
}

/* Checks that three kinds of plan give the same bits as a plan that computes each layer alone:
 * groups by rows, depthwise layers inside 1x1 layers by rows, and channels in parts. The numbers of
 * rows and of parts grow by `step`. */
static void check_plans(int step)
{
  struct mafat_diagnostic d;
  struct mafat_weights *w;
  struct mafat_network *n = test_network(cfg);
  int fd = test_weights_file(n, 7);
  ck_assert_int_eq(test_weights_from(&w, fd, n, n->n_layers, NULL, &d), MAFAT_OK);
  close(fd);
  size_t bytes = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof(float);
  float *apart = run(n, w, "1x1", true);
  int rows = n->layers[0].out.h,
      parts = (n->layers[0].out.c + 15) / 16; /* channels are computed in units of 16 */
  for (int extent = 0; extent <= rows || extent <= parts; extent += step) {
    char texts[3][48] = {"1x1", "", ""};
    if (extent <= rows) snprintf(texts[2], sizeof texts[2], "1x1:dw%d", extent);
    if (extent > 0 && extent <= rows) snprintf(texts[0], sizeof texts[0], "rows%d", extent);
    if (extent > 1 && extent <= parts)
      snprintf(texts[1], sizeof texts[1], "split(c%d:0-%d)", extent, n->n_layers - 1);
    for (int i = 0; i < 3; i++) {
      if (!texts[i][0]) continue;
      float *together = run(n, w, texts[i], false);
      ck_assert_msg(memcmp(together, apart, bytes) == 0, "%s\n%s", texts[i], cfg);
      free(together);
    }
  }
  free(apart);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}

enum { DW_PW, PW_DW, BOTTLENECK, N_ORDERS };

static void write_cfg(int order, int h, int w, int c, int k, int size, int stride, int pad)
{
  snprintf(cfg, sizeof cfg, "[net]\nheight=%d\nwidth=%d\nchannels=%d\n", h, w, c);
  if (order == DW_PW) convolution(c, size, stride, pad, c);
  convolution(k, 1, 1, 0, 1);
  if (order != DW_PW) convolution(k, size, stride, pad, k);
  if (order == BOTTLENECK) convolution(c, 1, 1, 0, 1);
}

START_TEST(test_published_shapes)
{
  int side = 32 << _i % 3, stride = 1 + _i / 3 % 2, c = 32 << _i / 6 % 3, k = c << _i / 18 % 2;
  write_cfg(_i / 36, side, side, c, k, 3, stride, 1);
  check_plans(side / 2); /* extents 0, half the side, the whole side */
}
END_TEST

START_TEST(test_odd_shapes_at_every_extent)
{
  static const int sides[][2] = {{7, 9}, {11, 5}, {13, 16}};
  int size = 3 + 2 * (_i % 3), stride = 1 + _i / 3 % 2, pad = _i / 6 % 2,
      order = _i / 12 % N_ORDERS, side = _i / 36;
  if (sides[side][1] < size) return;
  write_cfg(order, sides[side][0], sides[side][1], 20, 35, size, stride, pad);
  check_plans(1);
}
END_TEST

/* Checks that the plans of a search's front give the bits in `apart`. Some of these plans fuse
 * depthwise layers. */
static void check_front(const struct mafat_network *n, struct mafat_weights *w, const float *apart,
                        size_t bytes)
{
  static const struct mafat_footprint footprint = {.process_bytes = 3 << 20};
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_diagnostic d = {""};
  struct mafat_front *front;
  mafat_plan_defaults(&options);
  mafat_calibration_defaults(&calibration, "avx512");
  options.algorithm = MAFAT_DIRECT; /* its bits are the same under any plan */
  struct mafat_search_request request = {.network = n,
                                         .n_layers = n->n_layers,
                                         .options = &options,
                                         .footprint = &footprint,
                                         .calibration = &calibration};
  ck_assert_msg(mafat_search_front(&front, &request, &d) == MAFAT_OK, "%s", d.text);
  for (int i = 0; i < front->n; i++) {
    char text[TEST_PLAN_ROOM];
    ck_assert_uint_lt(mafat_spec_write(front->list[i].spec, text, sizeof text), sizeof text);
    if (strstr(text, ":loaded") || strstr(text, ":streamed"))
      continue; /* this test opens weights only for plans that keep all */
    float *found = run(n, w, text, false);
    ck_assert_msg(memcmp(found, apart, bytes) == 0, "%s\n%s", text, cfg);
    free(found);
  }
  mafat_front_close(&front);
}

START_TEST(test_units_as_they_come)
{
  struct test_rng rng = test_rng(77000 + (uint64_t)_i);
  struct mafat_diagnostic d;
  struct mafat_weights *w;
  char text[TEST_PLAN_ROOM];
  test_random_blocks(&rng, 20, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  int fd = test_weights_file(n, 7);
  ck_assert_int_eq(test_weights_from(&w, fd, n, n->n_layers, NULL, &d), MAFAT_OK);
  close(fd);
  size_t bytes = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof(float);
  float *apart = run(n, w, "1x1", true);
  for (int i = 0; i < 8; i++) {
    test_random_units(&rng, n, text, sizeof text);
    float *together = run(n, w, text, false);
    ck_assert_msg(memcmp(together, apart, bytes) == 0, "%s\n%s", text, cfg);
    free(together);
  }
  check_front(n, w, apart, bytes);
  free(apart);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

Suite *separable_suite(void)
{
  Suite *suite = suite_create("separable");
  TCase *tcase = tcase_create("separable");
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_published_shapes, 0, 72);
  tcase_add_loop_test(tcase, test_odd_shapes_at_every_extent, 0, 108);
  tcase_add_loop_test(tcase, test_units_as_they_come, 0, test_seeds(40));
  suite_add_tcase(suite, tcase);
  return suite;
}
