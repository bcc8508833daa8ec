/* Covers api/{picture, picture_options, unfit}.c, runner/image/{input, pixel_rule, pixels,
 * placement}.c: how pictures become inputs of a network. Tests the placement of pictures, and the
 * conversion of bytes to numbers as given by options, by model files and by default. */
#include "include/mafat_pack.h"
#include "include/mafat_plan.h"
#include "runner/image/decoder.h"
#include "runner/image/image.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/picture_writer.h"
#include "tests/support/random.h"
#include "tests/support/weight_files.h"

#include <check.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *pictures_suite(void);

enum { MOST = 40, N_PIXELS = MOST * MOST * 3 };

static struct mafat_diagnostic diagnostic;

/* ---- placement ---- */

static int is_near(double a, double b)
{
  return fabs(a - b) < 1e-9 * (1 + fabs(a) + fabs(b));
}

static void check_placement(const struct mafat_placement *p)
{
  bool wide = (int64_t)p->picture_w * p->in_h > (int64_t)p->picture_h * p->in_w;
  ck_assert(p->picture_w > 0 && p->picture_h > 0);
  switch (p->fit) {
  case MAFAT_FIT_STRETCH:
    ck_assert(p->left == 0 && p->top == 0 && p->w == p->in_w && p->h == p->in_h);
    break;
  case MAFAT_FIT_CORNER:
    ck_assert(p->left == 0 && p->top == 0 && p->w <= p->in_w && p->h <= p->in_h);
    break;
  case MAFAT_FIT_LETTERBOX:
    ck_assert(p->w <= p->in_w && p->h <= p->in_h && (wide ? p->w == p->in_w : p->h == p->in_h));
    ck_assert(p->left == (p->in_w - p->w) / 2 && p->top == (p->in_h - p->h) / 2);
    break;
  case MAFAT_FIT_CROP:
    ck_assert(p->w >= p->in_w && p->h >= p->in_h && (wide ? p->h == p->in_h : p->w == p->in_w));
    ck_assert(p->left == (p->in_w - p->w) / 2 && p->top == (p->in_h - p->h) / 2);
    break;
  }
  if (p->w == 0 || p->h == 0) return;
  ck_assert(is_near(mafat_placement_picture_x(p, p->left), 0) &&
            is_near(mafat_placement_picture_x(p, p->left + p->w), p->picture_w));
  ck_assert(is_near(mafat_placement_picture_y(p, p->top), 0) &&
            is_near(mafat_placement_picture_y(p, p->top + p->h), p->picture_h));
}

START_TEST(a_placement_maps_the_picture_s_edges_back)
{
  struct test_rng rng = test_rng(18);
  for (int i = 0; i < 20000; i++) {
    int most = i % 2 ? 50 : 5000;
    struct mafat_placement p =
        mafat_placement_make((enum mafat_fit)test_random_int(&rng, 0, 3),
                             test_random_int(&rng, 1, most), test_random_int(&rng, 1, most),
                             test_random_int(&rng, 1, most), test_random_int(&rng, 1, most));
    check_placement(&p);
  }
}
END_TEST

/* Placement of 768 x 576 in 416 x 416 by YOLOX and YOLOv5. */
START_TEST(known_placements)
{
  struct mafat_placement p = mafat_placement_make(MAFAT_FIT_CORNER, 768, 576, 416, 416);
  ck_assert(p.left == 0 && p.top == 0 && p.w == 416 && p.h == 312);
  p = mafat_placement_make(MAFAT_FIT_LETTERBOX, 768, 576, 416, 416);
  ck_assert(p.left == 0 && p.top == 52 && p.w == 416 && p.h == 312);
  p = mafat_placement_make(MAFAT_FIT_CROP, 768, 576, 416, 416);
  ck_assert(p.left == -69 && p.top == 0 && p.w == 554 && p.h == 416);
}
END_TEST

/* ---- conversion of bytes to numbers ---- */

struct picture_case {
  int w, h; /* width and height of the upright picture */
  struct mafat_image_input input;
  struct mafat_pixel_rule rule;
  float upright[N_PIXELS], found[N_PIXELS]; /* bytes of the picture / 255; pixels of the input */
  char path[32];
};

static float random_part(struct test_rng *rng, int least, int most)
{
  return (float)test_random_int(rng, least * 100, most * 100) / 100;
}

static void make_case(struct picture_case *k, struct test_rng *rng)
{
  k->input =
      (struct mafat_image_input){test_random_int(rng, 1, MOST), test_random_int(rng, 1, MOST),
                                 test_random_chance(rng, 30) ? 1 : 3,
                                 .fit = (enum mafat_fit)test_random_int(rng, 0, 3),
                                 .rule = &k->rule};
  k->rule = (struct mafat_pixel_rule){.swapped = k->input.c == 3 && test_random_chance(rng, 50),
                                      .pad = random_part(rng, 0, 255)};
  for (int c = 0; c < 3; c++) {
    k->rule.mean[c] = random_part(rng, -10, 200);
    k->rule.scale[c] = random_part(rng, -2, 2);
  }
  k->w = test_random_int(rng, 1, MOST);
  k->h = test_random_int(rng, 1, MOST);
}

/* Writes the picture so that, turned by the orientation, it is w x h. */
static void write_picture(struct picture_case *k, int orientation)
{
  bool sideways = orientation >= 5;
  struct png_style style = {.colour = k->input.c == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                            .depth = 8,
                            .orientation = orientation};
  strcpy(k->path, "/tmp/mafat-pictures-XXXXXX");
  int fd = mkstemp(k->path);
  ck_assert_int_ge(fd, 0);
  close(fd);
  picture_write_png(k->path, sideways ? k->h : k->w, sideways ? k->w : k->h, &style);
}

static void must_read(const struct picture_case *k, const struct mafat_image_input *input,
                      bool by_rows, float *pixels)
{
  struct mafat_image *im;
  size_t stride = (size_t)(input->w * input->c);
  int code = mafat_image_open(&im, k->path, input, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  if (by_rows && !mafat_image_describe(im)->turned)
    for (int y = 0; y < input->h && code == MAFAT_OK; y++)
      code = mafat_image_read_row(im, pixels + (size_t)y * stride, &diagnostic);
  else code = mafat_image_read(im, &(struct mafat_image_target){pixels, stride}, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  mafat_image_close(&im);
}

/* Interpolated byte of channel c at (x, y) of the upright picture, resized to the placement's size
 * as Darknet does. */
static double resized_byte(const struct picture_case *k, const struct mafat_placement *p, int c,
                           int y, int x)
{
  struct mafat_image_axis across = mafat_image_axis_make(k->w, p->w, 0, p->w),
                          along = mafat_image_axis_make(k->h, p->h, 0, p->h);
  struct mafat_resample_tap tx = mafat_image_column_tap(&across, x),
                            ty = mafat_image_row_tap(&along, y);
  const float *first = k->upright + (size_t)(ty.first * k->w * k->input.c),
              *second = k->upright + (size_t)(ty.second * k->w * k->input.c);
  int a = tx.first * k->input.c + c, b = tx.second * k->input.c + c;
  double above =
      (double)tx.first_weight * (double)first[a] + (double)tx.second_weight * (double)first[b];
  double below =
      (double)tx.first_weight * (double)second[a] + (double)tx.second_weight * (double)second[b];
  return 255 * ((double)ty.first_weight * above + (double)ty.second_weight * below);
}

static double wanted_number(const struct picture_case *k, const struct mafat_placement *p, int c,
                            int y, int x)
{
  bool inside = x >= p->left && x < p->left + p->w && y >= p->top && y < p->top + p->h;
  int from = k->rule.swapped ? 2 - c : c;
  double byte = inside ? resized_byte(k, p, from, y - p->top, x - p->left) : (double)k->rule.pad;
  return (byte - (double)k->rule.mean[c]) * (double)k->rule.scale[c];
}

static void check_numbers(const struct picture_case *k)
{
  struct mafat_placement p = mafat_placement_make(k->input.fit, k->w, k->h, k->input.w, k->input.h);
  const float *found = k->found;
  for (int y = 0; y < k->input.h; y++)
    for (int x = 0; x < k->input.w; x++)
      for (int c = 0; c < k->input.c; c++, found++) {
        double wanted = wanted_number(k, &p, c, y, x);
        ck_assert_msg(fabs((double)*found - wanted) <= 2e-4 * fabs((double)k->rule.scale[c]),
                      "fit %d, %d x %d of %d x %d, (%d, %d) channel %d: %g, expected %g",
                      (int)p.fit, k->input.w, k->input.h, k->w, k->h, x, y, c, (double)*found,
                      wanted);
      }
}

START_TEST(numbers_are_those_of_a_plain_reference)
{
  struct test_rng rng = test_rng(181 + (uint64_t)_i);
  static struct picture_case k;
  for (int i = 0; i < 60; i++) {
    make_case(&k, &rng);
    write_picture(&k, test_random_int(&rng, 1, 8));
    must_read(&k, &(struct mafat_image_input){k.w, k.h, k.input.c, .fit = MAFAT_FIT_STRETCH}, false,
              k.upright);
    must_read(&k, &k.input, test_random_chance(&rng, 50), k.found);
    check_numbers(&k);
    unlink(k.path);
  }
}
END_TEST

/* Without resizing, bytes become exactly the numbers of the rule. */
START_TEST(bytes_stay_integers)
{
  unsigned char bytes[256];
  float found[256];
  const struct mafat_pixel_rule whole = {.scale = {1, 1, 1}},
                                less = {.mean = {127.5f}, .scale = {1 / 127.5f}};
  struct mafat_image *im;
  for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)i;
  for (int twice = 0; twice < 2; twice++) {
    const struct mafat_pixel_rule *rule = twice ? &less : &whole;
    struct mafat_image_input input = {16, 16, 1, .fit = MAFAT_FIT_LETTERBOX, .rule = rule};
    ck_assert_int_eq(mafat_image_open_pixels(&im,
                                             &(struct mafat_image_pixels){bytes, 16, 16, 1, 16},
                                             &input, &diagnostic),
                     MAFAT_OK);
    ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){found, 16}, &diagnostic),
                     MAFAT_OK);
    for (int i = 0; i < 256; i++)
      ck_assert(memcmp(&found[i], &(float){((float)i - rule->mean[0]) * rule->scale[0]},
                       sizeof *found) == 0);
    mafat_image_close(&im);
  }
}
END_TEST

/* Darknet's rule given explicitly gives the same bits as the default, and the promised memory does
 * not depend on the rule. */
START_TEST(darknet_s_rule_written_out_changes_no_bit)
{
  struct test_rng rng = test_rng(1818);
  static struct picture_case k;
  static float plain[N_PIXELS];
  for (int i = 0; i < 40; i++) {
    make_case(&k, &rng);
    k.rule = (struct mafat_pixel_rule){.scale = {1 / 255.f, 1 / 255.f, 1 / 255.f}, .pad = 127.5f};
    struct mafat_image_input unsaid = k.input;
    unsaid.rule = NULL;
    write_picture(&k, test_random_int(&rng, 1, 8));
    must_read(&k, &k.input, false, k.found);
    must_read(&k, &unsaid, false, plain);
    ck_assert_mem_eq(k.found, plain, (size_t)(k.input.w * k.input.h * k.input.c) * sizeof *plain);
    ck_assert_uint_eq(mafat_image_bytes_assumed(&k.input), mafat_image_bytes_assumed(&unsaid));
    unlink(k.path);
  }
}
END_TEST

/* ---- models ---- */

enum { IN_W = 24, IN_H = 16, IN_FLOATS = 3 * IN_W * IN_H };

enum lies { IN_FRONT, BEHIND, BEHIND_ELEMENTS, N_LIES };

/* Adds element-wise operators that together change nothing. Returns the name of their result. */
static const char *put_elements(struct test_message *graph, int channels)
{
  static const double two[] = {2, 2, 2}, none[3];
  const int64_t whole[] = {1, 1, 1, channels};
  test_onnx_add(graph, "Cast", "picture", "cast", "to=1");
  test_onnx_floats(graph, "none", 1, whole + 3, none);
  test_onnx_add(graph, "Sub", "cast none", "less", "");
  test_onnx_floats(graph, "two", 0, NULL, two);
  test_onnx_add(graph, "Mul", "two less", "twice", "");
  test_onnx_floats(graph, "twos", 4, whole, two);
  test_onnx_add(graph, "Div", "twice twos", "once", "");
  return "once";
}

/* Writes a temporary file, sets `path` to its name, and frees its data. */
static void write_whole(char path[40], struct test_message *file)
{
  strcpy(path, "/tmp/mafat-pictures-XXXXXX");
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, file->data, file->n), (ssize_t)file->n);
  close(fd);
  free(file->data);
}

/* Writes a model that returns its input, NCHW or NHWC, and has these metadata properties (NULL:
 * none). */
static void write_model(char path[40], enum lies after, int channels, const char *format,
                        const char *range)
{
  const int64_t front_dims[] = {1, channels, IN_H, IN_W}, after_dims[] = {1, IN_H, IN_W, channels};
  struct test_message graph = {0};
  test_onnx_input(&graph, "picture", 4, after ? after_dims : front_dims);
  const char *before = after == BEHIND_ELEMENTS ? put_elements(&graph, channels) : "picture";
  if (after) test_onnx_add(&graph, "Transpose", before, "front", "perm=[0,3,1,2]");
  test_onnx_add(&graph, "LeakyRelu", after ? "front" : "picture", "out", "alpha=1.");
  test_onnx_output(&graph, "out", 4, front_dims);
  struct test_message file = test_onnx_model(&graph, 13);
  const char *said[][2] = {{"Image.BitmapPixelFormat", format}, {"Image.NominalPixelRange", range}};
  for (int i = 0; i < 2; i++) {
    struct test_message property = {0};
    if (!said[i][1]) continue;
    test_put_text(&property, 1, said[i][0]);
    test_put_text(&property, 2, said[i][1]);
    test_put_message(&file, 14, &property);
  }
  write_whole(path, &file);
}

/* Writes a model of a picture of 32 x 32 whose output has the dimensions of YOLOv8's: for
 * 21 cells, four numbers of a box and two classes, all of them means of pixels. */
static void write_boxes(char path[40])
{
  const int64_t in[] = {1, 3, 32, 32}, out[] = {1, 6, 21}, to[] = {1, 3, -1};
  struct test_message graph = {0};
  test_onnx_input(&graph, "picture", 4, in);
  test_onnx_int64s(&graph, "to", 3, to);
  test_onnx_add(&graph, "AveragePool", "picture", "a", "kernel_shape=[8,8] strides=[8,8]");
  test_onnx_add(&graph, "AveragePool", "a", "b", "kernel_shape=[2,2] strides=[2,2]");
  test_onnx_add(&graph, "AveragePool", "b", "c", "kernel_shape=[2,2] strides=[2,2]");
  test_onnx_add(&graph, "Reshape", "a to", "d", "");
  test_onnx_add(&graph, "Reshape", "b to", "e", "");
  test_onnx_add(&graph, "Reshape", "c to", "f", "");
  test_onnx_add(&graph, "Concat", "d e f", "g", "axis=2");
  test_onnx_add(&graph, "Concat", "g g", "out", "axis=1");
  test_onnx_output(&graph, "out", 3, out);
  struct test_message file = test_onnx_model(&graph, 12);
  write_whole(path, &file);
}

static struct mafat_model_options usual_options(void)
{
  struct mafat_model_options o = {.size = sizeof o};
  o.memory_bytes = (size_t)1 << 28;
  return o;
}

static int open_model(struct mafat_model **m, const char *path, const struct mafat_model_options *o)
{
  diagnostic.text[0] = '\0';
  return mafat_model_open(m, path, NULL, o, &diagnostic);
}

/* Compares an input that the model made from random pixels with one read by the expected rule. */
static void check_model(const char *path, const struct mafat_model_options *o, int channels,
                        enum mafat_fit fit, const struct mafat_pixel_rule *rule)
{
  enum { W = 37, H = 21 };
  unsigned char pixels[W * H * 3];
  static float found[IN_FLOATS], wanted[IN_FLOATS];
  struct mafat_model *m;
  struct mafat_image *im;
  struct test_rng rng = test_rng(5);
  const struct mafat_image_input input = {IN_W, IN_H, channels, .fit = fit, .rule = rule};
  for (size_t i = 0; i < sizeof pixels; i++)
    pixels[i] = (unsigned char)test_random_int(&rng, 0, 255);
  ck_assert_msg(open_model(&m, path, o) == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_msg(mafat_model_run_pixels(m, pixels, W, H, 3, W * 3, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  ck_assert_int_eq(mafat_model_read_output(m, NULL, found, (size_t)(channels * IN_W * IN_H),
                                           &diagnostic),
                   MAFAT_OK);
  ck_assert_int_eq(mafat_image_open_pixels(&im,
                                           &(struct mafat_image_pixels){pixels, W, H, 3, W * 3},
                                           &input, &diagnostic),
                   MAFAT_OK);
  ck_assert_int_eq(mafat_image_read(im,
                                    &(struct mafat_image_target){wanted, (size_t)(IN_W * channels)},
                                    &diagnostic),
                   MAFAT_OK);
  for (int i = 0; i < IN_W * IN_H; i++)
    for (int c = 0; c < channels; c++)
      ck_assert_mem_eq(&found[c * IN_W * IN_H + i], &wanted[i * channels + c], sizeof *found);
  mafat_image_close(&im);
  mafat_model_close(&m);
}

START_TEST(options_decide_what_a_model_is_given)
{
  static const char *const plans[] = {NULL, "rows1", "1x1", "2x2", "split(h3:0)/order=best"};
  const float mean[] = {1, 20, 103.5f}, scale[] = {.5f, 1 / 57.f, 2}, pad = 7;
  const struct mafat_pixel_rule rule = {.swapped = true,
                                        .mean = {1, 20, 103.5f},
                                        .scale = {.5f, 1 / 57.f, 2},
                                        .pad = 7},
                                gray = {.mean = {1}, .scale = {.5f}, .pad = 114},
                                usual = {.scale = {1 / 255.f, 1 / 255.f, 1 / 255.f}, .pad = 114};
  char path[40];
  for (enum lies after = IN_FRONT; after < N_LIES; after++) {
    struct mafat_model_options o = usual_options();
    write_model(path, after, 3, NULL, NULL);
    check_model(path, &o, 3, MAFAT_FIT_STRETCH, &usual);
    o.resize = "letterbox";
    check_model(path, &o, 3, MAFAT_FIT_LETTERBOX, &usual);
    o.mean = mean, o.scale = scale, o.pad = &pad, o.channels = "bgr", o.resize = "crop";
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
      o.plan = plans[i];
      check_model(path, &o, 3, MAFAT_FIT_CROP, &rule);
    }
    o.resize = "corner";
    check_model(path, &o, 3, MAFAT_FIT_CORNER, &rule);
    unlink(path);
    write_model(path, after, 1, NULL, NULL);
    o.pad = NULL, o.channels = "gray";
    check_model(path, &o, 1, MAFAT_FIT_CORNER, &gray);
    unlink(path);
  }
}
END_TEST

START_TEST(a_file_may_say_it)
{
  const struct mafat_pixel_rule said = {.swapped = true,
                                        .mean = {127.5f, 127.5f, 127.5f},
                                        .scale = {1 / 127.5f, 1 / 127.5f, 1 / 127.5f},
                                        .pad = 114};
  struct mafat_pixel_rule other = said;
  char path[40];
  struct mafat_model_options o = usual_options();
  const float scale[] = {3, 4, 5};
  write_model(path, IN_FRONT, 3, "Bgr8", "Normalized_1_1");
  check_model(path, &o, 3, MAFAT_FIT_STRETCH, &said);
  o.channels = "rgb", o.scale = scale;
  other.swapped = false;
  memcpy(other.scale, scale, sizeof scale);
  check_model(path, &o, 3, MAFAT_FIT_STRETCH, &other);
  unlink(path);
  write_model(path, IN_FRONT, 3, "Rgb8", "NominalRange_0_255");
  o = usual_options();
  check_model(path, &o, 3, MAFAT_FIT_STRETCH,
              &(struct mafat_pixel_rule){.scale = {1, 1, 1}, .pad = 114});
  unlink(path);
}
END_TEST

START_TEST(facts_report_it)
{
  char path[40];
  struct mafat_model *m;
  struct mafat_dry_run *q;
  struct mafat_model_facts f = {.size = sizeof f};
  struct mafat_dry_run_facts of_dry_run = {.size = sizeof of_dry_run};
  struct mafat_model_options o = usual_options();
  const float mean[] = {1, 2, 3};
  write_model(path, IN_FRONT, 3, NULL, "Normalized_1_1");
  ck_assert_int_eq(mafat_dry_run_open(&q, path, NULL, &o, &diagnostic), MAFAT_OK);
  mafat_dry_run_describe(q, &of_dry_run);
  ck_assert_str_eq(of_dry_run.picture.source, "file");
  ck_assert_str_eq(of_dry_run.picture.channels, "rgb");
  ck_assert(of_dry_run.picture.mean[2] > 127 && of_dry_run.picture.pad > 113 &&
            of_dry_run.picture.pad < 115);
  mafat_dry_run_close(&q);
  o.mean = mean, o.resize = "corner", o.channels = "bgr";
  ck_assert_int_eq(open_model(&m, path, &o), MAFAT_OK);
  mafat_model_describe(m, &f);
  ck_assert_str_eq(f.picture.source, "options");
  ck_assert_str_eq(f.picture.channels, "bgr");
  ck_assert_str_eq(f.picture.resize, "corner");
  ck_assert_mem_eq(f.picture.mean, mean, sizeof mean);
  mafat_model_close(&m);
  unlink(path);
}
END_TEST

/* ---- options that a packed file stores ---- */

static int pack(const char *path, const char *packed, const struct mafat_pack_options *o)
{
  struct mafat_pack *p;
  bool done = false;
  diagnostic.text[0] = '\0';
  int code = mafat_pack_open(&p, path, NULL, packed, o, &diagnostic);
  while (code == MAFAT_OK && !done) code = mafat_pack_step(p, &done, &diagnostic);
  mafat_pack_close(&p);
  return code;
}

static void name_packed(char packed[48], const char *path)
{
  snprintf(packed, 48, "%s.packed", path);
}

/* A packed file converts pictures as its model does with the same options. Options of a run apply
 * in place of the stored ones, one by one. */
START_TEST(a_packed_file_stores_options)
{
  const float mean[] = {9, 20.25f, 30}, scale[] = {.5f, 1 / 57.f, 2}, pad = 7, other = 250;
  struct mafat_pixel_rule rule = {.swapped = true,
                                  .mean = {9, 20.25f, 30},
                                  .scale = {.5f, 1 / 57.f, 2},
                                  .pad = 7};
  const struct mafat_pixel_rule usual = {.scale = {1 / 255.f, 1 / 255.f, 1 / 255.f}, .pad = 114};
  struct mafat_pack_options po = {.size = sizeof po, .replace = true};
  struct mafat_model_options o = usual_options();
  struct mafat_model_facts f = {.size = sizeof f};
  struct mafat_model *m;
  char path[40], packed[48];
  write_model(path, IN_FRONT, 3, "Rgb8", NULL);
  name_packed(packed, path);
  ck_assert_msg(pack(path, packed, &po) == MAFAT_OK, "%s", diagnostic.text);
  check_model(packed, &o, 3, MAFAT_FIT_STRETCH, &usual);
  po.mean = mean, po.scale = scale, po.channels = "bgr", po.resize = "letterbox", po.pad = &pad;
  ck_assert_msg(pack(path, packed, &po) == MAFAT_OK, "%s", diagnostic.text);
  check_model(packed, &o, 3, MAFAT_FIT_LETTERBOX, &rule);
  ck_assert_int_eq(open_model(&m, packed, &o), MAFAT_OK);
  mafat_model_describe(m, &f);
  ck_assert_str_eq(f.picture.source, "file");
  mafat_model_close(&m);
  o.pad = &other, o.resize = "crop", o.channels = "rgb";
  rule.pad = 250, rule.swapped = false;
  check_model(packed, &o, 3, MAFAT_FIT_CROP, &rule);
  unlink(path);
  unlink(packed);
}
END_TEST

/* Replaces a word in the packed file's index, and recomputes its checksums. */
static void replace_word(const char *packed, const char *word, const char *by)
{
  static char whole[1 << 16];
  FILE *file = fopen(packed, "r+b");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(whole, 1, sizeof whole, file);
  char *at = memmem(whole, n, word, strlen(word) + 1);
  ck_assert_ptr_nonnull(at);
  memcpy(at, by, strlen(word));
  test_seal_packed(whole);
  rewind(file);
  ck_assert_uint_eq(fwrite(whole, 1, n, file), n);
  fclose(file);
}

START_TEST(stored_words_without_meaning_are_refused)
{
  static const char *const words[][3] = {{"bgr", "bgx", "found bgx"},
                                         {"letterbox", "letterboy", "found letterboy"},
                                         {"yolov8", "yolov9", "found yolov9"}};
  struct mafat_pack_options po = {.size = sizeof po};
  struct mafat_model_options o = usual_options();
  struct mafat_model *m;
  char path[40], packed[48];
  write_boxes(path);
  name_packed(packed, path);
  po.channels = "bgr", po.resize = "letterbox", po.decode = "yolov8";
  ck_assert_msg(pack(path, packed, &po) == MAFAT_OK, "%s", diagnostic.text);
  replace_word(packed, words[_i][0], words[_i][1]);
  ck_assert_int_eq(open_model(&m, packed, &o), MAFAT_EINVAL);
  ck_assert_msg(strstr(diagnostic.text, words[_i][2]) != NULL, "%s", diagnostic.text);
  unlink(path);
  unlink(packed);
}
END_TEST

static void check_refused(const char *path, const struct mafat_model_options *o, const char *text)
{
  struct mafat_model *m;
  ck_assert_int_eq(open_model(&m, path, o), MAFAT_EINVAL);
  ck_assert_msg(strstr(diagnostic.text, text) != NULL, "%s", diagnostic.text);
}

/* Packing refuses options that no run would accept, and writes nothing. */
START_TEST(options_that_cannot_be_stored)
{
  char path[40], packed[48];
  const float infinite[] = {0, INFINITY, 0}, huge[] = {0, 0, 3e38f}, more = 256;
  struct mafat_pack_options o;
  write_model(path, IN_FRONT, 3, NULL, NULL);
  name_packed(packed, path);
#define REFUSED(field, value, says)                                                           \
  do {                                                                                        \
    o = (struct mafat_pack_options){.size = sizeof o, .field = (value)};                      \
    ck_assert_int_ne(pack(path, packed, &o), MAFAT_OK);                                       \
    ck_assert_msg(strstr(diagnostic.text, says) != NULL, "%s", diagnostic.text);              \
    ck_assert_int_ne(access(packed, F_OK), 0);                                                \
  } while (0)
  REFUSED(mean, infinite, "expected a mean of finite numbers, found inf");
  REFUSED(scale, huge, "expected a mean and a scale that give finite numbers");
  REFUSED(pad, &more, "expected a pad from 0 to 255, found 256");
  REFUSED(channels, "grb", "found grb");
  REFUSED(channels, "gray and more", "channels: expected rgb, bgr or gray, found 'gray and more'");
  REFUSED(channels, "gray", "expected an input of 1 channel for channels gray, found 3");
  REFUSED(resize, "stretched to the input", "resize: expected stretch, letterbox, corner or crop");
  REFUSED(decode, "yolox", "outputs cannot be decoded as yolox");
  REFUSED(decode, "a head of long name", "decode: expected a head, found 'a head of long name'");
  unlink(path);
  write_model(path, IN_FRONT, 4, NULL, NULL);
  REFUSED(resize, "corner", "expected a network of 1 or 3 input channels for pictures, found 4");
#undef REFUSED
  unlink(path);
}
END_TEST

START_TEST(options_that_make_no_sense)
{
  char path[40];
  const float infinite[] = {0, INFINITY, 0}, huge[] = {0, 0, 3e38f}, less = -1, more = 256,
              not = NAN;
  struct mafat_model_options o = usual_options();
  write_model(path, IN_FRONT, 3, NULL, NULL);
#define REFUSED(field, value, text) \
  (o = usual_options(), o.field = (value), check_refused(path, &o, text))
  REFUSED(mean, infinite, "expected a mean of finite numbers, found inf");
  REFUSED(scale, infinite, "expected a scale of finite numbers");
  REFUSED(scale, huge,
          "expected a mean and a scale that give finite numbers for bytes, found 0 and 3e+38");
  REFUSED(channels, "grb", "expected channels of pictures (rgb, bgr, gray), found grb");
  REFUSED(channels, "gray", "expected an input of 1 channel for channels gray, found 3");
  REFUSED(resize, "fit",
          "expected a way to resize pictures (stretch, letterbox, corner, crop), found fit");
  REFUSED(pad, &less, "expected a pad from 0 to 255, found -1");
  REFUSED(pad, &more, "expected a pad from 0 to 255, found 256");
  REFUSED(pad, &not, "expected a pad from 0 to 255");
  unlink(path);
  write_model(path, IN_FRONT, 1, NULL, NULL);
  REFUSED(channels, "rgb", "expected an input of 3 channels for channels rgb, found 1");
#undef REFUSED
  unlink(path);
}
END_TEST

/* If a model would fit without the picture's decoder, the message names the decoder and a remedy.
 * This holds both for opening the model for a picture and for running it on that picture. */
START_TEST(a_decoder_that_does_not_fit_is_named)
{
  enum { W = 2000, H = 1500, SPARE = 4 << 20 };
  char path[40], picture[] = "/tmp/mafat-pictures-XXXXXX";
  struct mafat_model_options o = usual_options();
  struct mafat_model *m, *none;
  close(mkstemp(picture));
  write_model(path, IN_FRONT, 3, NULL, NULL);
  ck_assert_int_eq(open_model(&m, path, &o), MAFAT_OK);
  o.memory_bytes = mafat_model_charge_bytes(m) + SPARE;
  mafat_model_close(&m);
  for (int png = 0; png < 2; png++) {
    const char *remedy = png ? "PNG is decoded whole, as it is interlaced"
                             : "JPEG is decoded whole, as its scans are unusual";
    if (png)
      picture_write_png(picture, W, H,
                        &(struct png_style){
                            .colour = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = true});
    else
      picture_write_jpeg(
          picture, W, H,
          &(struct jpeg_style){.colours = JPEG_YCC, .progressive = true, .arithmetic = true});
    o.picture = NULL;
    ck_assert_msg(open_model(&m, path, &o) == MAFAT_OK, "%s", diagnostic.text);
    ck_assert_int_eq(mafat_model_run_picture(m, picture, &diagnostic), MAFAT_ELIMIT);
    ck_assert_msg(strstr(diagnostic.text, "; decoding the picture takes ") != NULL &&
                      strstr(diagnostic.text, remedy) != NULL,
                  "%s", diagnostic.text);
    mafat_model_close(&m);
    o.picture = picture;
    ck_assert_int_eq(open_model(&none, path, &o), MAFAT_ELIMIT);
    ck_assert_msg(strstr(diagnostic.text, remedy) != NULL, "%s", diagnostic.text);
  }
  o.memory_bytes = 1 << 16; /* too small for the model without any picture */
  ck_assert_int_eq(open_model(&none, path, &o), MAFAT_ELIMIT);
  ck_assert_ptr_null(strstr(diagnostic.text, "decoding the picture"));
  unlink(picture);
  unlink(path);
}
END_TEST

Suite *pictures_suite(void)
{
  Suite *s = suite_create("pictures");
  TCase *t = tcase_create("pictures");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, a_placement_maps_the_picture_s_edges_back);
  tcase_add_test(t, known_placements);
  tcase_add_loop_test(t, numbers_are_those_of_a_plain_reference, 0, 8);
  tcase_add_test(t, bytes_stay_integers);
  tcase_add_test(t, darknet_s_rule_written_out_changes_no_bit);
  tcase_add_test(t, options_decide_what_a_model_is_given);
  tcase_add_test(t, a_file_may_say_it);
  tcase_add_test(t, facts_report_it);
  tcase_add_test(t, options_that_make_no_sense);
  tcase_add_test(t, a_packed_file_stores_options);
  tcase_add_test(t, options_that_cannot_be_stored);
  tcase_add_loop_test(t, stored_words_without_meaning_are_refused, 0, 3);
  tcase_add_test(t, a_decoder_that_does_not_fit_is_named);
  suite_add_tcase(s, t);
  return s;
}
