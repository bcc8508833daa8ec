/* Covers runner/image/{bmp, image, jpeg, other_format, png, ppm, resize, source}.c: pictures as
 * inputs. Pixels read from each kind of file are those written to it; pictures are also resized,
 * shrunk, turned and read row by row. */
#include <check.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "runner/image/other_format.h"
#include "tests/support/picture_reader.h"
#include "tests/support/picture_writer.h"

Suite *image_suite(void);

enum { WIDTH = 53, HEIGHT = 37 };

static float sample8(int x, int y, int k)
{
  return (float)((picture_sample(x, y, k) >> 8) / 255.);
}

/* ---- Resizing. ---- */

struct shape {
  int w, h, in_w, in_h;
};

static const struct shape shapes[] = {{WIDTH, HEIGHT, 32, 32},
                                      {WIDTH, HEIGHT, 100, 90},
                                      {HEIGHT, WIDTH, 64, 48},
                                      {WIDTH, HEIGHT, WIDTH, HEIGHT},
                                      {1, 1, 8, 8},
                                      {1, 40, 8, 8},
                                      {40, 1, 8, 8},
                                      {2, 3, 1, 1},
                                      {300, 2, 16, 16},
                                      {2, 300, 16, 16},
                                      {300, 30, 20, 9},
                                      {30, 300, 20, 9},
                                      {1, 900, 8, 8},
                                      {900, 1, 8, 8},
                                      {17, 20, 16, 19},
                                      {640, 480, 61, 61}};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* One axis of Darknet's bilinear resizing, which computes positions as floats. If the output has
 * one pixel, it is the last input pixel. */
static void find_neighbours(int i, int from, int to, int *first, double *fraction)
{
  float position = to > 1 ? (float)i * ((float)(from - 1) / (float)(to - 1)) : (float)(from - 1);
  *first = (int)position;
  *fraction = (double)(position - (float)*first);
}

static double resized(const struct shape *s, int w, int h, int x, int y, int k)
{
  int x0, y0;
  double dx, dy;
  find_neighbours(x, s->w, w, &x0, &dx);
  find_neighbours(y, s->h, h, &y0, &dy);
  if (x == w - 1) x0 = s->w - 1, dx = 0;
  int x1 = x0 + (dx > 0), y1 = y0 + (dy > 0);
  double above = (1 - dx) * (double)sample8(x0, y0, k) + dx * (double)sample8(x1, y0, k);
  double below = (1 - dx) * (double)sample8(x0, y1, k) + dx * (double)sample8(x1, y1, k);
  return (1 - dy) * above + (y == h - 1 ? 0 : dy * below);
}

static void check_resized(const struct shape *s, int w, int h, enum mafat_fit fit)
{
  int left = (s->in_w - w) / 2, top = (s->in_h - h) / 2;
  float *pixels = picture_must_read(s->in_w, s->in_h, 3, fit);
  for (int y = 0; y < s->in_h; y++)
    for (int i = 0; i < s->in_w * 3; i++) {
      int x = i / 3 - left, v = y - top;
      bool inside = x >= 0 && x < w && v >= 0 && v < h;
      double wanted = inside ? resized(s, w, h, x, v, i % 3) : 0.5;
      double found = (double)pixels[y * s->in_w * 3 + i];
      ck_assert_msg(fabs(found - wanted) <= 1e-6,
                    "%dx%d to %dx%d, pixel (%d, %d): %g instead of %g", s->w, s->h, w, h, x, v,
                    found, wanted);
    }
  free(pixels);
}

START_TEST(resizing_is_darknets)
{
  const struct shape *s = &shapes[_i];
  picture_write_ppm(picture_path, s->w, s->h, '6', 255);
  check_resized(s, s->in_w, s->in_h, MAFAT_FIT_STRETCH);
  bool flat = (float)s->in_w / (float)s->w < (float)s->in_h / (float)s->h;
  int w = flat ? s->in_w : s->w * s->in_h / s->h;
  int h = flat ? s->h * s->in_w / s->w : s->in_h;
  check_resized(s, w, h, MAFAT_FIT_LETTERBOX);
}
END_TEST

/* If (to - 1) * (499 / (to - 1)) is rounded to just under 499, the last row of a picture that is
 * resized to `to` rows is almost black, as in Darknet. */
START_TEST(last_row_may_be_black)
{
  int found = 0;
  for (int to = 2; to < 400 && !found; to++)
    if ((int)((float)(to - 1) * ((float)(499) / (float)(to - 1))) == 498) found = to;
  ck_assert_int_gt(found, 0);
  picture_write_ppm(picture_path, 2, 500, '5', 255);
  float *pixels = picture_must_read(2, found, 1, MAFAT_FIT_STRETCH);
  ck_assert(pixels[2 * (found - 1)] < 0.001f);
  free(pixels);
}
END_TEST

START_TEST(target_may_be_wider_than_the_input)
{
  enum { SIDE = 8, STRIDE = SIDE * 3 + 5 };
  static const struct mafat_image_input input = {SIDE, SIDE, 3, .fit = MAFAT_FIT_LETTERBOX};
  for (int o = 1; o <= 8; o++) {
    float pixels[SIDE * STRIDE];
    for (int i = 0; i < SIDE * STRIDE; i++) pixels[i] = 7;
    picture_write_jpeg(picture_path, WIDTH, HEIGHT,
                       &(struct jpeg_style){.colours = JPEG_YCC, .orientation = o});
    struct mafat_image *im = NULL;
    ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, NULL), MAFAT_OK);
    ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){pixels, STRIDE}, NULL),
                     MAFAT_OK);
    mafat_image_close(&im);
    for (int i = 0; i < SIDE * STRIDE; i++)
      ck_assert_int_eq(pixels[i] > 1, i % STRIDE >= SIDE * 3);
  }
}
END_TEST

/* ---- Formats. Without resizing, a pixel equals the sample in the file. ---- */

static void check_samples(int c, float (*wanted)(int x, int y, int k), double tolerance)
{
  float *pixels = picture_must_read(WIDTH, HEIGHT, c, MAFAT_FIT_LETTERBOX);
  for (int i = 0; i < WIDTH * HEIGHT * c; i++) {
    int x = i / c % WIDTH, y = i / c / WIDTH;
    double error = fabs((double)pixels[i] - (double)wanted(x, y, i % c));
    ck_assert_msg(error <= tolerance, "pixel (%d, %d), channel %d is off by %g", x, y, i % c,
                  error);
  }
  free(pixels);
}

static float first_sample(int x, int y, int k)
{
  (void)k;
  return sample8(x, y, 0);
}

static float grey_sample(int x, int y, int k)
{
  (void)k;
  return 0.299f * sample8(x, y, 0) + 0.587f * sample8(x, y, 1) + 0.114f * sample8(x, y, 2);
}

static float first_4_bits(int x, int y, int k)
{
  (void)k;
  return (float)(picture_sample(x, y, 0) >> 12) / 15;
}

static float palette_sample(int x, int y, int k)
{
  int i = (int)(picture_sample(x, y, 0) >> 8);
  const int colour[] = {i * 7 & 255, 255 - i, (i * 3 + 90) & 255};
  return (float)colour[k] / 255;
}

static float scaled_of_100(int x, int y, int k)
{
  unsigned sample = picture_sample(x, y, k) * 101u >> 16;
  return (float)(sample * 255 / 100) / 255;
}

static const struct {
  struct png_style style;
  float (*wanted)(int x, int y, int k);
} pngs[] = {
    {{.colour = PNG_COLOR_TYPE_RGB, .depth = 8}, sample8},
    {{.colour = PNG_COLOR_TYPE_RGB, .depth = 16}, sample8},
    {{.colour = PNG_COLOR_TYPE_RGB, .depth = 8, .gamma = true}, sample8},
    {{.colour = PNG_COLOR_TYPE_RGB, .depth = 8, .transparency = true}, sample8},
    {{.colour = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 8}, sample8},
    {{.colour = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 16, .interlaced = true}, sample8},
    {{.colour = PNG_COLOR_TYPE_GRAY, .depth = 4}, first_4_bits},
    {{.colour = PNG_COLOR_TYPE_GRAY, .depth = 4, .transparency = true}, first_4_bits},
    {{.colour = PNG_COLOR_TYPE_GRAY, .depth = 8}, first_sample},
    {{.colour = PNG_COLOR_TYPE_GRAY, .depth = 16, .interlaced = true}, first_sample},
    {{.colour = PNG_COLOR_TYPE_GRAY_ALPHA, .depth = 8}, first_sample},
    {{.colour = PNG_COLOR_TYPE_PALETTE, .depth = 8}, palette_sample},
    {{.colour = PNG_COLOR_TYPE_PALETTE, .depth = 8, .transparency = true, .interlaced = true},
     palette_sample},
};

START_TEST(png_pixels)
{
  const struct png_style *style = &pngs[_i].style;
  picture_write_png(picture_path, WIDTH, HEIGHT, style);
  check_samples(3, pngs[_i].wanted, 1e-6);
  if ((style->colour & PNG_COLOR_MASK_COLOR) == 0)
    check_samples(1, pngs[_i].wanted, 1e-6);
  else if (pngs[_i].wanted == sample8 && !style->gamma)
    check_samples(1, grey_sample, 1.01 / 255);
}
END_TEST

START_TEST(ppm_pixels)
{
  static const char kinds[] = "2356";
  bool coloured = kinds[_i] == '3' || kinds[_i] == '6';
  static const int maxvals[] = {255, 65535};
  for (int i = 0; i < 2; i++) {
    picture_write_ppm(picture_path, WIDTH, HEIGHT, kinds[_i], maxvals[i]);
    check_samples(3, coloured ? sample8 : first_sample, 1e-6);
    check_samples(1, coloured ? grey_sample : first_sample, coloured ? 1.01 / 255 : 1e-6);
  }
  if (kinds[_i] != '3') return;
  picture_write_ppm(picture_path, WIDTH, HEIGHT, '3', 100);
  check_samples(3, scaled_of_100, 1e-6);
}
END_TEST

static float first_4_bits_of_bmp(int x, int y, int k)
{
  (void)k;
  return (float)(picture_sample(x, y, 0) >> 12) / 15;
}

static float bits_of_555(int x, int y, int k)
{
  return (float)((picture_sample(x, y, k) >> 11) * 255 / 31) / 255;
}

static float bits_of_565(int x, int y, int k)
{
  if (k != 1) return bits_of_555(x, y, k);
  return (float)((picture_sample(x, y, k) >> 10) * 255 / 63) / 255;
}

static const struct {
  struct bmp_style style;
  float (*wanted)(int x, int y, int k);
} bmps[] = {{{.bits = 24}, sample8},
            {{.bits = 24, .top_down = true}, sample8},
            {{.bits = 24, .core = true}, sample8},
            {{.bits = 32}, sample8},
            {{.bits = 32, .masks = true}, sample8},
            {{.bits = 8}, first_sample},
            {{.bits = 8, .core = true}, first_sample},
            {{.bits = 4}, first_4_bits_of_bmp},
            {{.bits = 16}, bits_of_555},
            {{.bits = 16, .masks = true, .top_down = true}, bits_of_565}};

enum { N_BMPS = sizeof bmps / sizeof *bmps };

START_TEST(bmp_pixels)
{
  picture_write_bmp(picture_path, WIDTH, HEIGHT, &bmps[_i].style);
  check_samples(3, bmps[_i].wanted, 1e-6);
  if (bmps[_i].wanted == sample8) check_samples(1, grey_sample, 1.01 / 255);
}
END_TEST

static float cmyk_sample(int x, int y, int k)
{
  return sample8(x, y, k) * sample8(x, y, 3);
}

static const struct {
  struct jpeg_style style;
  float (*wanted)(int x, int y, int k);
} jpegs[] = {
    {{.colours = JPEG_YCC}, sample8},
    {{.colours = JPEG_RGB}, sample8},
    {{.colours = JPEG_YCC, .restart_rows = 1, .arithmetic = true}, sample8},
    {{.colours = JPEG_YCC, .progressive = true}, sample8},
    {{.colours = JPEG_GREY}, first_sample},
    {{.colours = JPEG_GREY, .progressive = true}, first_sample},
    {{.colours = JPEG_CMYK}, cmyk_sample},
    {{.colours = JPEG_YCCK, .progressive = true}, cmyk_sample},
};

START_TEST(jpeg_pixels)
{
  picture_write_jpeg(picture_path, WIDTH, HEIGHT, &jpegs[_i].style);
  check_samples(3, jpegs[_i].wanted, 0.15); /* a noisy picture at quality 90 */
  if (jpegs[_i].style.colours < JPEG_CMYK)
    check_samples(1, jpegs[_i].style.colours == JPEG_GREY ? first_sample : grey_sample, 0.1);
}
END_TEST

/* ---- Shrinking. ---- */

/* Mean difference between a picture read with shrinking and read exactly; both have the same
 * placement. */
static double shrunk_difference(int w, int h, enum mafat_fit fit)
{
  float *exact = picture_must_read(w, h, 3, fit),
        *shrunk = malloc((size_t)(w * h * 3) * sizeof *shrunk);
  ck_assert_ptr_nonnull(shrunk);
  ck_assert_int_eq(picture_read(&(struct mafat_image_input){w, h, 3, .fit = fit, .shrinks = true},
                                shrunk),
                   MAFAT_OK);
  double sum = 0;
  for (int i = 0; i < w * h * 3; i++) sum += fabs((double)(exact[i] - shrunk[i]));
  free(exact);
  free(shrunk);
  return sum / (w * h * 3);
}

/* Shrinking changes a picture only a little. Sizes: 16 times the input's, and one pixel too small
 * to be shrunk to the half. */
START_TEST(shrunk_pictures_are_like_exact_ones)
{
  static const struct jpeg_style styles[] = {
      {.colours = JPEG_YCC, .h = 2, .v = 2},
      {.colours = JPEG_YCC, .h = 1, .v = 2, .progressive = true},
      {.colours = JPEG_GREY},
      {.colours = JPEG_YCCK, .h = 2, .v = 1},
      {.colours = JPEG_RGB, .restart_rows = 1}};
  struct jpeg_style style = styles[_i];
  for (style.orientation = 1; style.orientation <= 8; style.orientation++) {
    bool sideways = style.orientation > 4;
    picture_write_jpeg(picture_path, 643, 321, &style);
    double difference =
        shrunk_difference(sideways ? 20 : 40, sideways ? 40 : 20, MAFAT_FIT_STRETCH);
    ck_assert_msg(difference > 0 && difference < 0.1, "orientation %d: %g", style.orientation,
                  difference);
    ck_assert(shrunk_difference(96, 96, MAFAT_FIT_LETTERBOX) < 0.1);
    picture_write_jpeg(picture_path, 79, 41, &style);
    ck_assert(shrunk_difference(sideways ? 20 : 41, sideways ? 41 : 20, MAFAT_FIT_STRETCH) == 0);
  }
}
END_TEST

START_TEST(only_jpegs_are_shrunk)
{
  picture_write_ppm(picture_path, 200, 100, '6', 255);
  ck_assert(shrunk_difference(20, 10, MAFAT_FIT_STRETCH) == 0);
  picture_write_png(picture_path, 200, 100,
                    &(struct png_style){.colour = PNG_COLOR_TYPE_RGB, .depth = 8});
  ck_assert(shrunk_difference(20, 10, MAFAT_FIT_STRETCH) == 0);
}
END_TEST

START_TEST(netpbm_text_is_free_form)
{
  static const char text[] = "P3#x\n#y\r3\t1 # z\n\v15\f# 1 2 3\n 15 0 0\n0 99 0#\n0 0 5";
  picture_write_bytes(picture_path, text, sizeof text - 1);
  float *p = picture_must_read(3, 1, 3, MAFAT_FIT_STRETCH);
  ck_assert(p[0] == 1 && p[1] == 0 && p[4] == 1 && p[8] > 0.33f && p[8] < 0.34f);
  free(p);
}
END_TEST

/* ---- Turning. ---- */

/* Finds where a pixel (x, y) of the upright picture is stored in a file with orientation o. */
static void stored_position(int o, int x, int y, int *sx, int *sy)
{
  *sx = o >= 5 ? y : x;
  *sy = o >= 5 ? x : y;
  if (o == 2 || o == 3 || o == 7 || o == 8) *sx = WIDTH - 1 - *sx;
  if (o == 3 || o == 4 || o == 6 || o == 7) *sy = HEIGHT - 1 - *sy;
}

static void check_turned(int o, const float *stored)
{
  int w = o >= 5 ? HEIGHT : WIDTH, h = o >= 5 ? WIDTH : HEIGHT;
  struct mafat_image_input input = {w, h, 3, .fit = MAFAT_FIT_LETTERBOX};
  struct mafat_image *im = NULL;
  ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, NULL), MAFAT_OK);
  const struct mafat_image_info *info = mafat_image_describe(im);
  ck_assert_int_eq(info->width, w);
  ck_assert_int_eq(info->height, h);
  ck_assert_int_eq(info->orientation, o);
  ck_assert_int_eq(info->turned, o > 2);
  mafat_image_close(&im);

  float *pixels = picture_must_read(w, h, 3, MAFAT_FIT_LETTERBOX);
  for (int i = 0; i < w * h; i++) {
    int sx, sy;
    stored_position(o, i % w, i / w, &sx, &sy);
    for (int k = 0; k < 3; k++)
      ck_assert(pixels[i * 3 + k] == stored[(sy * WIDTH + sx) * 3 + k]);
  }
  free(pixels);
}

START_TEST(orientations)
{
  int o = _i;
  picture_write_jpeg(picture_path, WIDTH, HEIGHT,
                     &(struct jpeg_style){.colours = JPEG_YCC, .h = 2, .v = 2});
  float *stored = picture_must_read(WIDTH, HEIGHT, 3, MAFAT_FIT_STRETCH);
  for (int i = 0; i < 4; i++) {
    struct jpeg_style style = {.colours = JPEG_YCC, .h = 2, .v = 2, .orientation = o,
                               .big_endian = i & 1, .progressive = i & 2};
    picture_write_jpeg(picture_path, WIDTH, HEIGHT, &style);
    check_turned(o, stored);
  }
  free(stored);

  struct png_style style = {.colour = PNG_COLOR_TYPE_RGB, .depth = 8};
  picture_write_png(picture_path, WIDTH, HEIGHT, &style);
  stored = picture_must_read(WIDTH, HEIGHT, 3, MAFAT_FIT_STRETCH);
  style.orientation = o;
  for (int i = 0; i < 4; i++) {
    style.exif_after = i & 1;
    style.interlaced = i & 2;
    picture_write_png(picture_path, WIDTH, HEIGHT, &style);
    check_turned(o, stored);
  }
  free(stored);
}
END_TEST

START_TEST(exif_that_does_not_count)
{
  picture_write_jpeg(picture_path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC});
  float *stored = picture_must_read(WIDTH, HEIGHT, 3, MAFAT_FIT_STRETCH);
  picture_write_jpeg(picture_path, WIDTH, HEIGHT,
                     &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 9});
  check_turned(1, stored);
  const struct jpeg_style after = {.colours = JPEG_YCC, .orientation = 6, .xmp_first = true};
  picture_write_jpeg(picture_path, WIDTH, HEIGHT, &after);
  check_turned(1, stored);
  free(stored);
}
END_TEST

/* ---- Rows. ---- */

START_TEST(rows_are_what_read_reads)
{
  static const struct mafat_image_input inputs[] = {
      {40, 64, 3, .fit = MAFAT_FIT_LETTERBOX},
      {64, 20, 1, .fit = MAFAT_FIT_LETTERBOX},
      {30, 31, 3, .fit = MAFAT_FIT_STRETCH}};
  const struct mafat_image_input *input = &inputs[_i];
  picture_write_jpeg(picture_path, WIDTH, HEIGHT,
                     &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 2});
  float *whole = picture_must_read(input->w, input->h, input->c, input->fit), row[64 * 3];
  struct mafat_image *im = NULL;
  ck_assert_int_eq(mafat_image_open(&im, picture_path, input, NULL), MAFAT_OK);
  size_t n = (size_t)(input->w * input->c);
  for (int y = 0; y < input->h; y++) {
    ck_assert_int_eq(mafat_image_read_row(im, row, NULL), MAFAT_OK);
    ck_assert_int_eq(memcmp(row, whole + (size_t)y * n, n * sizeof *row), 0);
  }
  ck_assert_int_eq(mafat_image_read_row(im, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){whole, n}, NULL),
                   MAFAT_EINVAL);
  mafat_image_close(&im);
  mafat_image_close(&im);
  mafat_image_close(NULL);
  free(whole);
}
END_TEST

START_TEST(turned_pictures_have_no_rows)
{
  static const struct mafat_image_input input = {32, 32, 3, .fit = MAFAT_FIT_LETTERBOX};
  float row[32 * 3], pixels[32 * 32 * 3];
  picture_write_jpeg(picture_path, WIDTH, HEIGHT,
                     &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 4});
  struct mafat_image *im = NULL;
  ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_image_read_row(im, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){pixels, 96}, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){pixels, 96}, NULL),
                   MAFAT_EINVAL);
  mafat_image_close(&im);
}
END_TEST

/* ---- Canceled by another thread. ---- */

static void write_kind(int kind)
{
  const struct jpeg_style progressive = {.colours = JPEG_YCC, .progressive = true},
                          baseline = {.colours = JPEG_YCC};
  const struct png_style interlaced = {
      .colour = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = true};
  switch (kind) {
  case 0: picture_write_jpeg(picture_path, WIDTH, HEIGHT, &baseline); break;
  case 1: picture_write_jpeg(picture_path, WIDTH, HEIGHT, &progressive); break;
  case 2: picture_write_png(picture_path, WIDTH, HEIGHT, &interlaced); break;
  default: picture_write_ppm(picture_path, WIDTH, HEIGHT, '6', 255); break;
  }
}

START_TEST(formats_that_are_not_read_are_named)
{
  static const struct {
    const char *bytes, *says;
    size_t n;
    int code;
  } files[] = {
      {"RIFF\0\0\0\0WEBPVP8 ", "found WebP; ImageMagick converts it", 16, MAFAT_EFORMAT},
      {"GIF89a", "found GIF", 6, MAFAT_EFORMAT},
      {"\0\0\0\x1c" "ftypheic", "found HEIC", 12, MAFAT_EFORMAT},
      {"P4\n1 1\n", "found netpbm P4", 7, MAFAT_EUNSUPPORTED},
      {"<!DOCTYPE html>", "an error page of a download?", 15, MAFAT_EFORMAT},
      {"GI", "found none of them", 2, MAFAT_EFORMAT},
      {"", "found none of them", 0, MAFAT_EFORMAT},
  };
  struct mafat_diagnostic d;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    ck_assert_int_eq(
        mafat_image_refuse_format("a", (const uint8_t *)files[i].bytes, files[i].n, &d),
        files[i].code);
    ck_assert_msg(strstr(d.text, files[i].says), "file %zu: %s", i, d.text);
  }
}
END_TEST

START_TEST(reading_ends_at_the_row_where_it_is_canceled)
{
  enum { ROWS = 5 };
  atomic_bool canceled = false;
  float row[WIDTH * 3], whole[WIDTH * HEIGHT * 3];
  const struct mafat_image_input input = {WIDTH, HEIGHT, 3, .fit = MAFAT_FIT_STRETCH,
                                          .canceled = &canceled};
  const struct mafat_image_target target = {whole, WIDTH * 3};
  struct mafat_image *im;
  write_kind(_i);
  for (int n_rows = 0; n_rows <= ROWS; n_rows += ROWS) {
    canceled = false;
    ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, NULL), MAFAT_OK);
    for (int y = 0; y < n_rows; y++)
      ck_assert_int_eq(mafat_image_read_row(im, row, NULL), MAFAT_OK);
    canceled = true;
    ck_assert_int_eq(mafat_image_read_row(im, row, &picture_diagnostic), MAFAT_ECANCELED);
    ck_assert_ptr_nonnull(strstr(picture_diagnostic.text, "canceled"));
    mafat_image_close(&im);
  }
  int code = mafat_image_open(&im, picture_path, &input, NULL);
  if (code == MAFAT_OK) code = mafat_image_read(im, &target, NULL);
  ck_assert_int_eq(code, MAFAT_ECANCELED);
  mafat_image_close(&im);
}
END_TEST

/* Inserts n zeros at an offset of the picture's file; if it is negative, before its end. */
static void insert_zeros(long at, size_t n)
{
  size_t before;
  uint8_t *bytes = picture_read_bytes(picture_path, &before), *longer = calloc(1, before + n);
  size_t from = at < 0 ? before - (size_t)-at : (size_t)at;
  ck_assert_ptr_nonnull(longer);
  memcpy(longer, bytes, from);
  memcpy(longer + from + n, bytes + from, before - from);
  picture_write_bytes(picture_path, longer, before + n);
  free(longer);
  free(bytes);
}

/* Everything in a file that may be long before the first row: zeros between a JPEG's segments and
 * between its scans, a PNG's chunks, a comment of a PPM. */
static void write_long(int i)
{
  enum { ZEROS = 100000, AFTER_JFIF = 20, END_MARKER = 2 };
  static char text[ZEROS];
  const struct jpeg_style baseline = {.colours = JPEG_YCC},
                          progressive = {.colours = JPEG_YCC, .progressive = true};
  switch (i) {
  case 0:
    picture_write_jpeg(picture_path, WIDTH, HEIGHT, &baseline);
    insert_zeros(AFTER_JFIF, ZEROS);
    break;
  case 1:
    picture_write_jpeg(picture_path, WIDTH, HEIGHT, &progressive);
    insert_zeros(-END_MARKER, ZEROS);
    break;
  case 2:
    picture_write_png(picture_path, WIDTH, HEIGHT,
                      &(struct png_style){.colour = PNG_COLOR_TYPE_RGB, .depth = 8});
    break;
  case 3:
    memset(text, ' ', sizeof text);
    memcpy(text, "P5#", 3);
    memcpy(text + ZEROS - 10, "\n1 1 255\n1", 10);
    picture_write_bytes(picture_path, text, sizeof text);
    break;
  }
}

START_TEST(opening_ends_if_it_is_canceled)
{
  atomic_bool canceled = false;
  const struct mafat_image_input input = {WIDTH, HEIGHT, 3, .fit = MAFAT_FIT_STRETCH,
                                          .canceled = &canceled};
  struct mafat_image *im;
  write_long(_i);
  ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, &picture_diagnostic), MAFAT_OK);
  mafat_image_close(&im);
  canceled = true;
  ck_assert_int_eq(mafat_image_open(&im, picture_path, &input, &picture_diagnostic),
                   MAFAT_ECANCELED);
  ck_assert_ptr_nonnull(strstr(picture_diagnostic.text, "canceled"));
}
END_TEST

Suite *image_suite(void)
{
  static const int n_pngs = sizeof pngs / sizeof *pngs, n_jpegs = sizeof jpegs / sizeof *jpegs;
  Suite *suite = suite_create("image");
  TCase *pixels = picture_case(suite, "pixels", 60);
  tcase_add_loop_test(pixels, resizing_is_darknets, 0, N_SHAPES);
  tcase_add_test(pixels, last_row_may_be_black);
  tcase_add_test(pixels, target_may_be_wider_than_the_input);
  tcase_add_loop_test(pixels, png_pixels, 0, n_pngs);
  tcase_add_loop_test(pixels, ppm_pixels, 0, 4);
  tcase_add_loop_test(pixels, bmp_pixels, 0, N_BMPS);
  tcase_add_loop_test(pixels, jpeg_pixels, 0, n_jpegs);
  tcase_add_loop_test(pixels, shrunk_pictures_are_like_exact_ones, 0, 5);
  tcase_add_test(pixels, only_jpegs_are_shrunk);
  tcase_add_test(pixels, netpbm_text_is_free_form);
  tcase_add_test(pixels, formats_that_are_not_read_are_named);
  tcase_add_loop_test(pixels, orientations, 1, 9);
  tcase_add_test(pixels, exif_that_does_not_count);
  tcase_add_loop_test(pixels, rows_are_what_read_reads, 0, 3);
  tcase_add_test(pixels, turned_pictures_have_no_rows);
  tcase_add_loop_test(pixels, reading_ends_at_the_row_where_it_is_canceled, 0, 4);
  tcase_add_loop_test(pixels, opening_ends_if_it_is_canceled, 0, 4);
  return suite;
}
