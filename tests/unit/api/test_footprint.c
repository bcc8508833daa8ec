/* Covers api/footprint.c: memory needs that are measured before a plan is chosen. */
#include "api/footprint.h"

#include "runner/image/raw_input.h"
#include "runner/os/process.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>

Suite *footprint_suite(void);

static struct mafat_network *network_of(int channels)
{
  char cfg[160];
  snprintf(cfg, sizeof cfg, "[net]\nwidth=64\nheight=64\nchannels=%d\n"
           "[convolutional]\nfilters=32\nsize=3\npad=1\nactivation=leaky\n", channels);
  return test_network(cfg);
}

static struct mafat_footprint measure(int channels, const char *picture, bool may_fail,
                                      bool floats_only, int expected)
{
  struct mafat_footprint footprint;
  struct mafat_diagnostic d;
  struct mafat_network *n = network_of(channels);
  struct mafat_footprint_request request = {
      .network = n, .picture = picture, .picture_may_fail = may_fail, .floats_only = floats_only};
  ck_assert_int_eq(mafat_footprint_measure(&footprint, &request, &d), expected);
  mafat_network_close(&n);
  return footprint;
}

/* An ordinary picture is assumed, so that a plan can be judged without one. */
START_TEST(test_without_a_picture_an_ordinary_one_is_assumed)
{
  struct mafat_image_input input = {64, 64, 3, .fit = MAFAT_FIT_STRETCH};
  struct mafat_footprint footprint = measure(3, NULL, false, false, MAFAT_OK);
  ck_assert_uint_eq(footprint.image_bytes, mafat_image_bytes_assumed(&input));
  ck_assert_uint_eq(footprint.file_bytes, 0);
  ck_assert_uint_eq(footprint.turned_bytes, 0);
}
END_TEST

START_TEST(test_the_process_is_measured)
{
  struct mafat_footprint footprint = measure(3, NULL, false, true, MAFAT_OK);
  size_t now = mafat_process_resident_bytes();
  ck_assert_uint_gt(footprint.process_bytes, now / 2);
  ck_assert_uint_lt(footprint.process_bytes, now + (1 << 20));
  ck_assert_uint_gt(footprint.late_bytes, 0);
}
END_TEST

static size_t raw_bytes(struct mafat_shape shape)
{
  struct mafat_file_order order;
  mafat_file_order_planes(&order, shape);
  return mafat_raw_input_bytes(&order);
}

START_TEST(test_floats_need_no_decoder)
{
  ck_assert_uint_eq(measure(3, NULL, false, true, MAFAT_OK).floats_bytes,
                    raw_bytes((struct mafat_shape){.h = 64, .w = 64, .c = 3}));
  ck_assert_uint_eq(measure(5, NULL, false, true, MAFAT_OK).floats_bytes,
                    raw_bytes((struct mafat_shape){.h = 64, .w = 64, .c = 5}));
  ck_assert_uint_lt(raw_bytes((struct mafat_shape){2000, 2000, 64}), 512 << 10);
}
END_TEST

START_TEST(test_pictures_have_one_channel_or_three)
{
  measure(1, NULL, false, false, MAFAT_OK);
  measure(2, NULL, false, false, MAFAT_EUNSUPPORTED);
}
END_TEST

START_TEST(test_a_picture_that_cannot_be_opened)
{
  struct mafat_image_input input = {64, 64, 3, .fit = MAFAT_FIT_STRETCH};
  measure(3, "no-such.ppm", false, false, MAFAT_EIO);
  ck_assert_uint_eq(measure(3, "no-such.ppm", true, false, MAFAT_OK).image_bytes,
                    mafat_image_bytes_assumed(&input));
}
END_TEST

/* late_bytes contains the records of plan and layout, which grow with the number of layers. */
START_TEST(test_records_are_counted_by_layers)
{
  static const char head[] = "[net]\nwidth=8\nheight=8\nchannels=3\n",
                    layer[] = "[maxpool]\nsize=1\nstride=1\n";
  char cfg[8192];
  struct mafat_footprint few, many;
  struct mafat_diagnostic d;
  size_t n = (size_t)snprintf(cfg, sizeof cfg, "%s", head);
  for (int i = 0; i < 100; i++) n += (size_t)snprintf(cfg + n, sizeof cfg - n, "%s", layer);
  struct mafat_network *network = test_network(cfg);
  struct mafat_footprint_request request = {.network = network, .floats_only = true};
  ck_assert_int_eq(mafat_footprint_measure(&many, &request, &d), MAFAT_OK);
  mafat_network_close(&network);
  few = measure(3, NULL, false, true, MAFAT_OK);
  ck_assert_uint_ge(many.late_bytes, few.late_bytes + 99 * 256);
  ck_assert_uint_le(many.late_bytes, few.late_bytes + 99 * 1024);
}
END_TEST

Suite *footprint_suite(void)
{
  Suite *s = suite_create("footprint");
  TCase *t = tcase_create("footprint");
  tcase_add_test(t, test_without_a_picture_an_ordinary_one_is_assumed);
  tcase_add_test(t, test_the_process_is_measured);
  tcase_add_test(t, test_floats_need_no_decoder);
  tcase_add_test(t, test_pictures_have_one_channel_or_three);
  tcase_add_test(t, test_a_picture_that_cannot_be_opened);
  tcase_add_test(t, test_records_are_counted_by_layers);
  suite_add_tcase(s, t);
  return s;
}
