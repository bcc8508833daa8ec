/* Covers api/{model, unfit}.c: like a program outside the project, uses the public header to open
 * a model, run it on floats and on a picture, and read the results. */
#include "include/mafat_plan.h"

#include "tests/support/picture_writer.h"

#include <check.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *model_suite(void);

static char folder[64], cfg_path[96], weights_path[96], picture_path[96];

static const char cfg_text[] =
    "[net]\nwidth=32\nheight=24\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"
    "[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n"
    "[yolo]\nmask=0,1\nanchors=8,8,16,12\nnum=2\nclasses=2\n";

enum { INPUTS = 3 * 24 * 32, WEIGHTS = 8 + 8 * 27 + 14 + 14 * 8 };

static void write_file(const char *path, const void *data, size_t bytes, const void *more,
                       size_t more_bytes)
{
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
  ck_assert_uint_eq(fwrite(more, 1, more_bytes, file), more_bytes);
  fclose(file);
}

static void make_files(void)
{
  static const int header[5] = {0, 2, 0, 0, 0};
  static float weights[WEIGHTS];
  static unsigned char pixels[60 * 40 * 3];
  strcpy(folder, "/tmp/mafat-model-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(cfg_path, sizeof cfg_path, "%s/net.cfg", folder);
  snprintf(weights_path, sizeof weights_path, "%s/net.weights", folder);
  snprintf(picture_path, sizeof picture_path, "%s/picture.ppm", folder);
  for (int i = 0; i < WEIGHTS; i++) weights[i] = (float)((i * 37) % 101) / 101.0f - .45f;
  for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)(i * 31 % 251);
  write_file(cfg_path, cfg_text, strlen(cfg_text), "", 0);
  write_file(weights_path, header, sizeof header, weights, sizeof weights);
  write_file(picture_path, "P6\n60 40\n255\n", 13, pixels, sizeof pixels);
}

static void remove_files(void)
{
  unlink(cfg_path);
  unlink(weights_path);
  unlink(picture_path);
  rmdir(folder);
}

static struct mafat_model *open_model(const char *plan)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_model *m;
  options.plan = plan;
  int code = mafat_model_open(&m, cfg_path, weights_path, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return m;
}

START_TEST(test_a_model_runs_on_a_picture)
{
  struct mafat_model *m = open_model(NULL);
  struct mafat_diagnostic d;
  struct mafat_detections *found;
  ck_assert_msg(mafat_model_run_picture(m, picture_path, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_detect(m, .1f, .45f, &found, &d), MAFAT_OK);
  for (size_t i = 0; i < found->n; i++) {
    ck_assert(found->list[i].confidence > .1f);
    ck_assert(isfinite(found->list[i].x) && isfinite(found->list[i].w));
  }
  ck_assert_uint_gt(found->n, 0);
  mafat_detections_close(&found);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_plans_give_the_same_floats)
{
  static float input[INPUTS], first[14 * 12 * 16], second[14 * 12 * 16];
  struct mafat_model *whole = open_model("1x1/NoCut"), *tiles = open_model("3x4/NoCut");
  int h, w, c;
  for (int i = 0; i < INPUTS; i++) input[i] = (float)(i % 97) / 97;
  ck_assert_int_eq(mafat_model_run_floats(whole, input, INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_run_floats(tiles, input, INPUTS, NULL), MAFAT_OK);
  mafat_model_output_shape(whole, &h, &w, &c);
  ck_assert(h == 12 && w == 16 && c == 14);
  ck_assert_int_eq(mafat_model_read_layer(whole, mafat_model_n_layers(whole) - 1, first, NULL),
                   MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(tiles, mafat_model_n_layers(tiles) - 1, second, NULL),
                   MAFAT_OK);
  ck_assert_mem_eq(first, second, sizeof first);
  ck_assert_str_eq(mafat_model_plan(tiles), "3x4/3/1x1");
  ck_assert_uint_gt(mafat_model_charge_bytes(whole), 0);
  mafat_model_close(&whole);
  mafat_model_close(&tiles);
}
END_TEST

START_TEST(test_a_budget_that_is_too_small_names_the_bytes)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_model *m;
  options.memory_bytes = 250000;
  ck_assert_int_eq(mafat_model_open(&m, cfg_path, weights_path, &options, &d), MAFAT_ELIMIT);
  ck_assert_ptr_null(m);
  ck_assert_ptr_nonnull(strstr(d.text, "does not fit: needs "));
  ck_assert_ptr_nonnull(strstr(d.text, " is 0.2 MiB; "));
  ck_assert_ptr_nonnull(strstr(d.text, "K would do"));
  options.best_effort = true;
  ck_assert_int_eq(mafat_model_open(&m, cfg_path, weights_path, &options, &d), MAFAT_OK);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_a_search_is_best_or_greedy)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_model *m;
  options.search = "greedy";
  ck_assert_int_eq(mafat_model_open(&m, cfg_path, weights_path, &options, &d), MAFAT_OK);
  ck_assert_ptr_nonnull(
      strstr("1x1/NoCut 2x2/NoCut 3x3/NoCut 4x4/NoCut 5x5/NoCut", mafat_model_plan(m)));
  mafat_model_close(&m);
  options.search = "fastest";
  ck_assert_int_eq(mafat_model_open(&m, cfg_path, weights_path, &options, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(m);
  ck_assert_ptr_nonnull(strstr(
      d.text, "expected a search (best, least, fdt, motes, separable, greedy), found fastest"));
}
END_TEST

START_TEST(test_wrong_arguments_are_explained)
{
  struct mafat_model *m = open_model(NULL);
  struct mafat_diagnostic d;
  float one = 0;
  ck_assert_int_eq(mafat_model_run_floats(m, &one, 1, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "2304"));
  ck_assert_int_eq(mafat_model_run_picture(m, "/nonexistent.jpg", &d), MAFAT_EIO);
  mafat_model_close(&m);
  mafat_model_close(&m);
  mafat_model_close(NULL);
  mafat_detections_close(NULL);
}
END_TEST

#ifndef MAFAT_WITHOUT_JPEG
/* Resident bytes of this process; 0 under AddressSanitizer, which keeps freed memory for a
 * while. */
static size_t resident_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
  return 0;
#endif
  char line[128];
  size_t kilobytes = 0;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "Rss: %zu", &kilobytes);
  if (file) fclose(file);
  return kilobytes * 1024;
}

/* When the second picture is read, all pages of the arena (25 MB) are resident. The decoder of a
 * progressive JPEG needs 12 MB more for the coefficients, but the process must not grow. */
START_TEST(test_the_second_large_picture_costs_no_more_than_the_first)
{
  static const char wide_cfg[] = "[net]\nwidth=512\nheight=512\nchannels=3\n"
                                 "[convolutional]\nfilters=24\nsize=1\nactivation=leaky\n";
  static const int header[5] = {0, 2, 0, 0, 0};
  static const float weights[24 + 24 * 3];
  struct jpeg_style progressive = {.colours = JPEG_YCC, .progressive = true};
  mallopt(M_MMAP_THRESHOLD, 128 << 10); /* as in run_inference */
  write_file(cfg_path, wide_cfg, strlen(wide_cfg), "", 0);
  write_file(weights_path, header, sizeof header, weights, sizeof weights);
  picture_write_jpeg(picture_path, 1600, 1200, &progressive);
  struct mafat_model *m = open_model("1x1/NoCut");
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  size_t first = resident_bytes();
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  if (first) ck_assert_uint_le(resident_bytes(), first + (1 << 20));
  mafat_model_close(&m);
}
END_TEST
#endif

START_TEST(test_every_code_has_a_name)
{
  for (int code = MAFAT_ECANCELED; code <= MAFAT_OK; code++)
    ck_assert_str_ne(mafat_error_name(code), "unknown error");
  ck_assert_str_eq(mafat_error_name(-99), "unknown error");
  ck_assert_ptr_nonnull(mafat_version());
}
END_TEST

Suite *model_suite(void)
{
  Suite *s = suite_create("model");
  TCase *t = tcase_create("model");
  tcase_add_checked_fixture(t, make_files, remove_files);
  tcase_add_test(t, test_a_model_runs_on_a_picture);
  tcase_add_test(t, test_plans_give_the_same_floats);
  tcase_add_test(t, test_a_budget_that_is_too_small_names_the_bytes);
  tcase_add_test(t, test_a_search_is_best_or_greedy);
  tcase_add_test(t, test_wrong_arguments_are_explained);
#ifndef MAFAT_WITHOUT_JPEG
  tcase_add_test(t, test_the_second_large_picture_costs_no_more_than_the_first);
#endif
  tcase_add_test(t, test_every_code_has_a_name);
  suite_add_tcase(s, t);
  return s;
}
