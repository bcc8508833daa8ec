/* Covers api/model.c: shapes of a model's layers, and outputs that can be read after a run or are
 * refused. */
#include "include/mafat.h"

#include "api/model.h"
#include "runner/os/process.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static struct mafat_model *open_model(const struct test_model_files *f,
                                      const struct mafat_model_options *options)
{
  struct mafat_diagnostic d;
  struct mafat_model *m;
  int code = mafat_model_open(&m, f->cfg, f->weights, options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return m;
}

static struct mafat_model_options default_options(void)
{
  struct mafat_model_options options = {.size = sizeof options};
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
  ck_assert_int_eq(mafat_model_read_layer(first, mafat_model_n_layers(first) - 1, cut, NULL),
                   MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(whole, mafat_model_n_layers(whole) - 1, output, NULL),
                   MAFAT_OK);
  ck_assert_mem_eq(head, cut, sizeof head);
  ck_assert_mem_eq(last, output, sizeof last);
  mafat_model_close(&whole);
  mafat_model_close(&first);
  test_model_files_close(&f);
}
END_TEST

START_TEST(test_other_layers_are_refused_by_name)
{
  static float values[16 * 24 * 16];
  struct test_model_files f = test_model_files(two_heads, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *m = open_model(&f, &options);
  struct mafat_diagnostic d;
  run(m);
  ck_assert_int_eq(mafat_model_read_layer(m, 0, values, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(
      strstr(d.text, "layer 0 [convolutional] cannot be read: it is not an output of the network"));
  ck_assert_int_eq(mafat_model_read_layer(m, LAST + 1, values, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "expected a layer from 0 to 6, found 7"));
  ck_assert_int_eq(mafat_model_read_layer(m, -1, values, &d), MAFAT_EINVAL);
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

/* ---- when outputs can be read ---- */

static void check_nothing_to_read(const struct mafat_model *m)
{
  static float values[LAST_FLOATS];
  struct mafat_detections *found;
  struct mafat_diagnostic d;
  ck_assert_int_eq(mafat_model_read_layer(m, LAST, values, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "no output to read"));
  ck_assert_int_eq(mafat_model_detect(m, .5f, .45f, &found, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "no output to read"));
  ck_assert_ptr_null(found);
  values[0] = 1;
  ck_assert_int_eq(mafat_model_read_output(m, NULL, values, LAST_FLOATS, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "no output to read"));
  ck_assert(values[0] == 1); /* nothing is written */
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
  return mafat_process_resident_bytes_of(mafat_executor_arena(m->executor),
                                         m->choice.layout->total_bytes);
}

START_TEST(test_a_model_that_rests_holds_no_page_of_its_arena)
{
  static float first[LAST_FLOATS], second[LAST_FLOATS];
  struct test_model_files f = test_model_files(two_heads, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *m = open_model(&f, &options);
  run(m);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, first, NULL), MAFAT_OK);
  ck_assert_uint_gt(arena_pages(m), 0);
  mafat_model_rest(m);
  ck_assert_uint_eq(arena_pages(m), 0);
  check_nothing_to_read(m);
  mafat_model_rest(m); /* resting twice is allowed */
  run(m);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, second, NULL), MAFAT_OK);
  ck_assert_mem_eq(first, second, sizeof first);
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

/* ---- another size, part of a cfg ---- */

#define BODY \
  "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n"
#define BODY_ONLY "[net]\nwidth=24\nheight=16\nchannels=3\n" BODY

/* Output of the last layer of a cfg under these options, with weights from the file of another
 * cfg. */
static float *output_of(const char *cfg, const struct test_model_files *weights,
                        const struct mafat_model_options *options, size_t *n)
{
  struct test_model_files f = test_model_files(BODY_ONLY, 1);
  struct mafat_model *m;
  struct mafat_diagnostic d;
  int h, w, c;
  ck_assert_int_eq(ftruncate(f.cfg_fd, 0), 0);
  ck_assert_int_eq(pwrite(f.cfg_fd, cfg, strlen(cfg), 0), (ssize_t)strlen(cfg));
  int code = mafat_model_open(&m, f.cfg, weights->weights, options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  run(m);
  mafat_model_output_shape(m, &h, &w, &c);
  *n = (size_t)h * (size_t)w * (size_t)c;
  float *out = malloc(*n * sizeof *out);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, out, NULL), MAFAT_OK);
  mafat_model_close(&m);
  test_model_files_close(&f);
  return out;
}

static void check_alike(const char *cfg, const struct mafat_model_options *options,
                        const char *other, const struct mafat_model_options *others,
                        const struct test_model_files *weights)
{
  size_t n, m;
  float *a = output_of(cfg, weights, options, &n), *b = output_of(other, weights, others, &m);
  ck_assert_uint_eq(n, m);
  ck_assert_mem_eq(a, b, n * sizeof *a);
  free(a);
  free(b);
}

START_TEST(test_a_size_that_is_given_is_as_if_the_cfg_had_it)
{
  struct mafat_model_options options = default_options(), plain = options;
  struct test_model_files f = test_model_files(BODY_ONLY, 1);
  options.width = 32;
  options.height = 12;
  check_alike(BODY_ONLY, &options, "[net]\nwidth=32\nheight=12\nchannels=3\n" BODY, &plain, &f);
  options.height = 0;
  check_alike(BODY_ONLY, &options, "[net]\nwidth=32\nheight=16\nchannels=3\n" BODY, &plain, &f);
  test_model_files_close(&f);
}
END_TEST

START_TEST(test_a_size_that_no_input_has_is_refused)
{
  struct mafat_model_options options = default_options();
  struct test_model_files f = test_model_files(BODY_ONLY, 1);
  struct test_model_files flat = test_model_files("[net]\ninputs=12\n[connected]\noutput=3\n", 1);
  struct mafat_model *m;
  struct mafat_diagnostic d;
  options.width = -1;
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(
      strstr(d.text, "expected an input of 1 to 1048576 pixels a side, found 16 x -1"));
  options.width = 1 << 21;
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_EINVAL);
  options.width = 4;
  ck_assert_int_eq(mafat_model_open(&m, flat.cfg, flat.weights, &options, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "no width and height"));
  options.width = 1;
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_OK);
  mafat_model_close(&m);
  test_model_files_close(&f);
  test_model_files_close(&flat);
}
END_TEST

/* The first two layers can run although later layers are unknown or invalid, also with weights of a
 * longer network. */
START_TEST(test_what_follows_the_first_layers_need_not_be_known)
{
  static const char unknown[] = BODY_ONLY "[lstm]\noutput=3\n[convolutional]\nfilters=99\n";
  static const char damaged[] = BODY_ONLY "[route]\nlayers=17\n";
  struct mafat_model_options options = default_options(), plain = options;
  struct test_model_files f =
      test_model_files(BODY_ONLY "[convolutional]\nfilters=6\n[yolo]\nclasses=1\n", 1);
  struct mafat_model *m;
  struct mafat_diagnostic d;
  options.layers = 2;
  check_alike(unknown, &options, BODY_ONLY, &plain, &f);
  check_alike(damaged, &options, BODY_ONLY, &plain, &f);
  ck_assert_int_eq(ftruncate(f.cfg_fd, 0), 0);
  ck_assert_int_eq(pwrite(f.cfg_fd, unknown, sizeof unknown - 1, 0), (ssize_t)sizeof unknown - 1);
  for (options.layers = 0; options.layers < 6; options.layers += options.layers ? 1 : 3) {
    ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(d.text, ":13: layer [lstm] is not supported"));
  }
  test_model_files_close(&f);
}
END_TEST

static void note_warning(void *context, const char *text)
{
  strncat(context, text, 200);
}

START_TEST(test_no_warning_comes_of_what_is_not_looked_at)
{
  struct mafat_model_options options = default_options();
  struct test_model_files f = test_model_files(BODY_ONLY, 1);
  struct mafat_model *m;
  static char heard[1024];
  const char *tail = "[lstm]\nsurely=1\n";
  ck_assert_int_eq(pwrite(f.cfg_fd, tail, strlen(tail), (off_t)strlen(BODY_ONLY)),
                   (ssize_t)strlen(tail));
  options.layers = 2;
  options.warnings = (struct mafat_warning_sink){note_warning, heard};
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, NULL), MAFAT_OK);
  ck_assert_str_eq(heard, "");
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

static void check_known(const char *tail, int want_known, int want_all, const char *why)
{
  struct test_model_files f = test_model_files(BODY_ONLY, 1);
  struct mafat_diagnostic d = {""};
  int known = -1, all = -1;
  ck_assert_int_eq(pwrite(f.cfg_fd, tail, strlen(tail), (off_t)strlen(BODY_ONLY)),
                   (ssize_t)strlen(tail));
  int code = mafat_cfg_known_layers(f.cfg, &known, &all, &d);
  test_model_files_close(&f);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(known, want_known);
  ck_assert_int_eq(all, want_all);
  ck_assert_msg(strstr(d.text, why) != NULL, "%s", d.text);
}

START_TEST(test_how_many_layers_are_known)
{
  struct test_model_files f = test_model_files(BODY_ONLY, 1);
  struct mafat_diagnostic d;
  int known, all;
  check_known("", 2, 2, "");
  check_known("[lstm]\noutput=3\n[softmax]\n", 2, 4, ":13: layer [lstm] is not supported");
  check_known("[softmax]\n[convolutional]\nbinary=1\n", 3, 4,
              "binary=1 in [convolutional] is not supported");
  ck_assert_int_eq(mafat_cfg_known_layers("/nonexistent.cfg", &known, &all, &d), MAFAT_EIO);
  ck_assert_ptr_nonnull(strstr(d.text, "/nonexistent.cfg: cannot open"));
  ck_assert_int_eq(pwrite(f.cfg_fd, "[nut]\n", 6, 0), 6);
  ck_assert_int_eq(mafat_cfg_known_layers(f.cfg, &known, &all, &d), MAFAT_EFORMAT);
  ck_assert(known == 0 && all == 0);
  test_model_files_close(&f);
}
END_TEST

/* ---- inner layers that are asked for ---- */

/* A dropout only renames, so the output of layer 0 is the input. */
static const char chain[] = "[net]\nwidth=24\nheight=16\nchannels=3\n[dropout]\n"
                            "[convolutional]\nfilters=40\nsize=3\npad=1\nactivation=leaky\n"
                            "[maxpool]\nsize=2\nstride=2\n"
                            "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n";

START_TEST(test_layers_that_are_asked_for_can_be_read)
{
  static const int outputs[] = {1, 0, 1};
  static const char *const plans[] = {NULL, "1x1/NoCut", "rows2/NoCut", "2x2/NoCut",
                                      "panels/NoCut"};
  struct test_model_files f = test_model_files(chain, 1);
  struct mafat_model_options options = default_options(), first = options;
  options.algorithm = first.algorithm = "direct";
  first.layers = 2;
  first.plan = "1x1/NoCut";
  struct mafat_model *cut = open_model(&f, &first);
  float *want = malloc(16 * 24 * 40 * sizeof *want), *out = malloc(16 * 24 * 40 * sizeof *out);
  run(cut);
  ck_assert_int_eq(mafat_model_read_layer(cut, mafat_model_n_layers(cut) - 1, want, NULL),
                   MAFAT_OK);
  options.outputs = outputs;
  options.n_outputs = 3;
  for (int i = 0; i < 5; i++) {
    options.plan = plans[i];
    struct mafat_model *m = open_model(&f, &options);
    run(m);
    ck_assert_int_eq(mafat_model_read_layer(m, 1, out, NULL), MAFAT_OK);
    ck_assert_mem_eq(out, want, 16 * 24 * 40 * sizeof *out);
    ck_assert_int_eq(mafat_model_read_layer(m, 0, out, NULL), MAFAT_OK);
    struct test_rng rng = test_rng(99);
    for (int k = 0; k < 3 * 16 * 24; k++)
      ck_assert(out[k] == (float)(test_random(&rng) >> 8) / 16777216.0f);
    ck_assert_int_eq(mafat_model_read_layer(m, 2, out, NULL), MAFAT_EINVAL);
    mafat_model_close(&m);
  }
  free(want);
  free(out);
  mafat_model_close(&cut);
  test_model_files_close(&f);
}
END_TEST

/* In a plan by rows, the wide map is never whole in memory, unless it is an output. The prediction
 * counts the memory of an output. */
START_TEST(test_what_an_output_costs_is_predicted)
{
  static const int wide = 1;
  struct test_model_files f = test_model_files(chain, 1);
  struct mafat_model_options options = default_options();
  options.plan = "rows1/NoCut";
  options.width = options.height = 128;
  struct mafat_model *without = open_model(&f, &options);
  options.outputs = &wide;
  options.n_outputs = 1;
  struct mafat_model *with = open_model(&f, &options);
  size_t map = 128 * 128 * 40 * sizeof(float);
  ck_assert_uint_lt(without->choice.layout->total_bytes, map);
  ck_assert_uint_ge(with->choice.layout->total_bytes, map);
  ck_assert_uint_ge(with->choice.prediction.resident_bytes,
                    without->choice.prediction.resident_bytes + map / 2);
  run(with);
  ck_assert_uint_le(arena_pages(with), with->choice.layout->total_bytes + MAFAT_PAGE);
  mafat_model_close(&without);
  mafat_model_close(&with);
  test_model_files_close(&f);
}
END_TEST

START_TEST(test_outputs_that_are_no_layers_are_refused)
{
  int outputs[] = {0, 4};
  struct test_model_files f = test_model_files(chain, 1);
  struct mafat_model_options options = default_options();
  struct mafat_model *m;
  struct mafat_diagnostic d;
  options.outputs = outputs;
  options.n_outputs = 2;
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "expected outputs of layers from 0 to 3, found 4"));
  outputs[1] = -1;
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_EINVAL);
  outputs[1] = 2;
  options.layers = 2; /* only layers 0 and 1 run */
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_EINVAL);
  options.outputs = NULL;
  ck_assert_int_eq(mafat_model_open(&m, f.cfg, f.weights, &options, &d), MAFAT_EINVAL);
  test_model_files_close(&f);
}
END_TEST

/* ---- pictures in memory ---- */

/* STRIDE is larger than the bytes of a row. */
enum { PICTURE_W = 50, PICTURE_H = 33, STRIDE = 211, PIXEL_OUTPUTS = 8 * 12 * 4 };

static void make_pixels(unsigned char *pixels, size_t bytes)
{
  struct test_rng rng = test_rng(3);
  for (size_t i = 0; i < bytes; i++) pixels[i] = (unsigned char)test_random(&rng);
}

/* Writes a PPM or PGM with the first `kept` channels of each pixel. */
static void write_ppm(const char *path, const unsigned char *pixels, int channels, int kept)
{
  FILE *file = fopen(path, "wb");
  fprintf(file, "P%d\n%d %d\n255\n", kept == 1 ? 5 : 6, PICTURE_W, PICTURE_H);
  for (int y = 0; y < PICTURE_H; y++)
    for (int x = 0; x < PICTURE_W; x++)
      fwrite(pixels + y * STRIDE + x * channels, 1, (size_t)kept, file);
  fclose(file);
}

/* Pixels in memory give the same bits as a PPM file of these pixels: in colour or grey, for a
 * network of colour or grey, letterboxed or stretched, by whole maps or by rows. */
START_TEST(test_pixels_give_the_bits_that_a_ppm_of_them_gives)
{
  static const int kinds[] = {1, 3, 4};
  static unsigned char pixels[STRIDE * PICTURE_H];
  static float want[PIXEL_OUTPUTS], got[PIXEL_OUTPUTS];
  int channels = kinds[_i % 3], wanted = _i / 3 % 2 ? 1 : 3;
  char cfg[512], path[] = "/tmp/mafat-pixels-XXXXXX";
  snprintf(
      cfg, sizeof cfg,
      "[net]\nwidth=24\nheight=16\nchannels=%d\nletter_box=%d\n"
      "[convolutional]\nfilters=4\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n",
      wanted, _i / 6 % 2);
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  close(fd);
  struct test_model_files f = test_model_files(cfg, 1);
  struct mafat_model_options options = default_options();
  struct mafat_diagnostic d;
  options.floats_only = false;
  options.plan = _i / 12 ? "rows1/NoCut" : "1x1/NoCut";
  struct mafat_model *m = open_model(&f, &options);
  make_pixels(pixels, sizeof pixels);
  write_ppm(path, pixels, channels, channels == 4 ? 3 : channels);
  int code = mafat_model_run_picture(m, path, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, want, NULL), MAFAT_OK);
  code = mafat_model_run_pixels(m, pixels, PICTURE_W, PICTURE_H, channels, STRIDE, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, got, NULL), MAFAT_OK);
  ck_assert_mem_eq(got, want, sizeof want);
  ck_assert(m->placement.picture_w == PICTURE_W && m->placement.picture_h == PICTURE_H);
  unlink(path);
  mafat_model_close(&m);
  test_model_files_close(&f);
}
END_TEST

START_TEST(test_pixels_that_are_no_picture_are_refused)
{
  static unsigned char pixels[STRIDE * PICTURE_H];
  static const struct {
    int w, h, channels;
    size_t stride;
    const char *why;
  } rows[] = {
      {0, 4, 3, STRIDE, "expected a width and a height, found 0x4"},
      {4, -1, 3, STRIDE, "found 4x-1"},
      {4, 4, 2, STRIDE, "expected 1, 3 or 4 channels, found 2"},
      {50, 4, 3, 149, "expected at least 150 bytes from row to row, found 149"},
      {4, 2, 3, SIZE_MAX, "expected rows within memory, found 2"},
      {(1 << 20) + 1, 1, 1, 1 << 21, "at most 1048576 pixels to a side"},
  };
  struct test_model_files f = test_model_files(two_heads, 1),
                          many = test_model_files(
                              "[net]\nwidth=8\nheight=8\nchannels=2\n[avgpool]\n", 1);
  struct mafat_model_options options = default_options();
  struct mafat_diagnostic d;
  struct mafat_model *other = open_model(&many, &options);
  options.floats_only = false;
  struct mafat_model *m = open_model(&f, &options);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_int_ne(mafat_model_run_pixels(m, pixels, rows[i].w, rows[i].h, rows[i].channels,
                                            rows[i].stride, &d),
                     MAFAT_OK);
    ck_assert_msg(strstr(d.text, rows[i].why) != NULL, "%s", d.text);
  }
  ck_assert_int_eq(mafat_model_run_pixels(m, NULL, 4, 4, 3, 12, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_run_pixels(other, pixels, 4, 4, 3, 12, &d), MAFAT_EUNSUPPORTED);
  mafat_model_close(&m);
  mafat_model_close(&other);
  test_model_files_close(&f);
  test_model_files_close(&many);
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
  tcase_add_test(t, test_a_size_that_is_given_is_as_if_the_cfg_had_it);
  tcase_add_test(t, test_a_size_that_no_input_has_is_refused);
  tcase_add_test(t, test_what_follows_the_first_layers_need_not_be_known);
  tcase_add_test(t, test_no_warning_comes_of_what_is_not_looked_at);
  tcase_add_test(t, test_how_many_layers_are_known);
  tcase_add_test(t, test_layers_that_are_asked_for_can_be_read);
  tcase_add_test(t, test_what_an_output_costs_is_predicted);
  tcase_add_test(t, test_outputs_that_are_no_layers_are_refused);
  tcase_add_loop_test(t, test_pixels_give_the_bits_that_a_ppm_of_them_gives, 0, 24);
  tcase_add_test(t, test_pixels_that_are_no_picture_are_refused);
  suite_add_tcase(s, t);
  return s;
}
