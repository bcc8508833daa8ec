/* What can be asked of a model's layers: shapes; outputs that stay readable after a run,
 * and when there are none. */
#include "include/mafat.h"

#include "runner/model.h"
#include "runner/process.h"
#include "tests/support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *layers_suite(void);

/* Two heads; the first of them is not the last layer. */
static const char two_heads[] = "[net]\nwidth=24\nheight=16\nchannels=3\n"
                                "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
                                "[convolutional]\nfilters=7\nsize=1\nactivation=linear\n"
                                "[yolo]\nclasses=2\nnum=1\nanchors=4,5\n"
                                "[route]\nlayers=0\n"
                                "[maxpool]\nsize=2\nstride=2\n"
                                "[convolutional]\nfilters=7\nsize=1\nactivation=linear\n"
                                "[yolo]\nclasses=2\nnum=1\nanchors=9,8\n";

enum { FIRST_HEAD = 2, LAST = 6, HEAD_FLOATS = 16 * 24 * 7, LAST_FLOATS = 8 * 12 * 7 };

static struct mafat_model *open_model(const struct test_model_files *f, const struct mafat_model_options *options)
{
  struct mafat_diagnostic d;
  struct mafat_model *m;
  int code = mafat_model_open(&m, f->cfg, f->weights, options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return m;
}

static struct mafat_model_options default_options(void)
{
  struct mafat_model_options options;
  mafat_model_defaults(&options);
  options.floats_only = true;
  return options;
}

static void run(struct mafat_model *m)
{
  struct mafat_diagnostic d;
  struct test_rng rng = test_rng(99);
  int h, w, c;
  mafat_model_input_shape(m, &h, &w, &c);
  size_t n = (size_t)h * (size_t)w * (size_t)c;
  float *input = malloc(n * sizeof *input);
  for (size_t i = 0; i < n; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  int code = mafat_model_run_floats(m, input, n, &d);
  free(input);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
}

/* ---- shapes ---- */

START_TEST(test_shapes_are_height_width_channels)
{
  struct test_model_files f = test_model_files(two_heads, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *m = open_model(&f, &options);
  int h, w, c;
  mafat_model_input_shape(m, &h, &w, &c);
  ck_assert(h == 16 && w == 24 && c == 3);
  ck_assert_int_eq(mafat_model_n_layers(m), LAST + 1);
  ck_assert_int_eq(mafat_model_layer_shape(m, 0, &h, &w, &c), MAFAT_OK);
  ck_assert(h == 16 && w == 24 && c == 16);
  ck_assert_int_eq(mafat_model_layer_shape(m, LAST, &h, &w, &c), MAFAT_OK);
  ck_assert(h == 8 && w == 12 && c == 7);
  ck_assert_int_eq(mafat_model_layer_shape(m, -1, &h, &w, &c), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_layer_shape(m, LAST + 1, &h, &w, &c), MAFAT_EINVAL);
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

/* ---- reading ---- */

START_TEST(test_heads_and_the_last_layer_can_be_read)
{
  static float head[HEAD_FLOATS], cut[HEAD_FLOATS], last[LAST_FLOATS], output[LAST_FLOATS];
  struct test_model_files f = test_model_files(two_heads, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *whole = open_model(&f, &options);
  options.layers = FIRST_HEAD + 1;
  struct mafat_model *first = open_model(&f, &options);
  run(whole);
  run(first);
  ck_assert_int_eq(mafat_model_read_layer(whole, FIRST_HEAD, head, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(whole, LAST, last, NULL), MAFAT_OK);
  mafat_model_read_output(first, cut);
  mafat_model_read_output(whole, output);
  ck_assert_mem_eq(head, cut, sizeof head);
  ck_assert_mem_eq(last, output, sizeof last);
  mafat_model_close(&whole);
  mafat_model_close(&first);
  test_model_files_close(&f);
}
END_TEST

START_TEST(test_other_layers_are_refused_by_name)
{
  static float room[16 * 24 * 16];
  struct test_model_files f = test_model_files(two_heads, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *m = open_model(&f, &options);
  struct mafat_diagnostic d;
  run(m);
  ck_assert_int_eq(mafat_model_read_layer(m, 0, room, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "layer 0 [convolutional] cannot be read: it is no output of the network"));
  ck_assert_int_eq(mafat_model_read_layer(m, LAST + 1, room, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "expected a layer from 0 to 6, found 7"));
  ck_assert_int_eq(mafat_model_read_layer(m, -1, room, &d), MAFAT_EINVAL);
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

/* ---- when there is something to read ---- */

static void check_nothing_to_read(const struct mafat_model *m)
{
  static float room[LAST_FLOATS];
  struct mafat_detections *found;
  struct mafat_diagnostic d;
  ck_assert_int_eq(mafat_model_read_layer(m, LAST, room, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "no output to read"));
  ck_assert_int_eq(mafat_model_detect(m, .5f, .45f, &found, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "no output to read"));
  ck_assert_ptr_null(found);
  memset(room, 1, sizeof room);
  mafat_model_read_output(m, room);
  for (int i = 0; i < LAST_FLOATS; i++) ck_assert(room[i] == 0);
}

START_TEST(test_before_the_first_run_there_is_no_output)
{
  struct test_model_files f = test_model_files(two_heads, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *m = open_model(&f, &options);
  check_nothing_to_read(m);
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

static size_t arena_pages(const struct mafat_model *m)
{
  return mafat_process_resident_bytes_of(mafat_executor_arena(m->executor), m->choice.layout->total_bytes);
}

START_TEST(test_a_model_that_rests_holds_no_page_of_its_arena)
{
  static float first[LAST_FLOATS], second[LAST_FLOATS];
  struct test_model_files f = test_model_files(two_heads, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *m = open_model(&f, &options);
  run(m);
  mafat_model_read_output(m, first);
  ck_assert_uint_gt(arena_pages(m), 0);
  mafat_model_rest(m);
  ck_assert_uint_eq(arena_pages(m), 0);
  check_nothing_to_read(m);
  mafat_model_rest(m); /* twice is not once too often */
  run(m);
  mafat_model_read_output(m, second);
  ck_assert_mem_eq(first, second, sizeof first);
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

Suite *layers_suite(void)
{
  Suite *s = suite_create("layers");
  TCase *t = tcase_create("layers");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, test_shapes_are_height_width_channels);
  tcase_add_test(t, test_heads_and_the_last_layer_can_be_read);
  tcase_add_test(t, test_other_layers_are_refused_by_name);
  tcase_add_test(t, test_before_the_first_run_there_is_no_output);
  tcase_add_test(t, test_a_model_that_rests_holds_no_page_of_its_arena);
  suite_add_tcase(s, t);
  return s;
}
