#include <check.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runner/image/image.h"
#include "runner/memory/process.h"
#include "tests/support/picture_writer.h"
#include "tests/support/support.h"

Suite *image_suite(void);

enum { WIDTH = 53, HEIGHT = 37 };

/* ---- A folder for the pictures of one test. ---- */

static char folder[64], path[128];

static void make_folder(void)
{
  strcpy(folder, "/tmp/mafat-image-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/picture", folder);
}

static void remove_folder(void)
{
  unlink(path);
  ck_assert_int_eq(rmdir(folder), 0);
}

/* ---- Reading. ---- */

static struct mafat_diagnostic diagnostic;

static int read_picture(const struct mafat_image_input *input, float *pixels)
{
  struct mafat_image *im = NULL;
  size_t stride = (size_t)(input->w * input->c);
  diagnostic.text[0] = 0;
  int code = mafat_image_open(&im, path, input, &diagnostic);
  ck_assert_int_eq(code == MAFAT_OK, im != NULL);
  if (code == MAFAT_OK)
    code = mafat_image_read(im, &(struct mafat_image_target){pixels, stride}, &diagnostic);
  mafat_image_close(&im);
  ck_assert_ptr_null(im);
  return code;
}

/* (h, w, c), to be freed. */
static float *must_read(int w, int h, int c, enum mafat_fit fit)
{
  size_t n = (size_t)w * (size_t)h * (size_t)c;
  float *pixels = malloc(n * sizeof *pixels);
  ck_assert_ptr_nonnull(pixels);
  for (size_t i = 0; i < n; i++) pixels[i] = NAN;
  int code = read_picture(&(struct mafat_image_input){w, h, c, .fit = fit}, pixels);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  for (size_t i = 0; i < n; i++) ck_assert(pixels[i] >= 0 && pixels[i] <= 1);
  return pixels;
}

static void must_fail(int code)
{
  static float pixels[32 * 32 * 3];
  int found = read_picture(&(struct mafat_image_input){32, 32, 3, .fit = MAFAT_FIT_LETTERBOX}, pixels);
  ck_assert_msg(found == code, "%s instead of %s: %s", mafat_error_name(found),
                mafat_error_name(code), diagnostic.text);
  ck_assert_msg(strncmp(diagnostic.text, path, strlen(path)) == 0, "%s", diagnostic.text);
}

static float sample8(int x, int y, int k)
{
  return (float)((picture_sample(x, y, k) >> 8) / 255.);
}

/* ---- Resizing. ---- */

struct shape {
  int w, h, in_w, in_h;
};

static const struct shape shapes[] = {
    {WIDTH, HEIGHT, 32, 32}, {WIDTH, HEIGHT, 100, 90}, {HEIGHT, WIDTH, 64, 48}, {WIDTH, HEIGHT, WIDTH, HEIGHT},
    {1, 1, 8, 8},            {1, 40, 8, 8},            {40, 1, 8, 8},           {2, 3, 1, 1},
    {300, 2, 16, 16},        {2, 300, 16, 16},         {300, 30, 20, 9},        {30, 300, 20, 9},
    {1, 900, 8, 8},          {900, 1, 8, 8},           {17, 20, 16, 19},        {640, 480, 61, 61}};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* One axis of Darknet's bilinear resizing; positions are floats there. A single
 * output pixel is the last input pixel. */
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
  float *pixels = must_read(s->in_w, s->in_h, 3, fit);
  for (int y = 0; y < s->in_h; y++)
    for (int i = 0; i < s->in_w * 3; i++) {
      int x = i / 3 - left, v = y - top;
      bool inside = x >= 0 && x < w && v >= 0 && v < h;
      double wanted = inside ? resized(s, w, h, x, v, i % 3) : 0.5;
      double found = (double)pixels[y * s->in_w * 3 + i];
      ck_assert_msg(fabs(found - wanted) <= 1e-6, "%dx%d to %dx%d, pixel (%d, %d): %g instead of %g",
                    s->w, s->h, w, h, x, v, found, wanted);
    }
  free(pixels);
}

START_TEST(resizing_is_darknets)
{
  const struct shape *s = &shapes[_i];
  picture_write_ppm(path, s->w, s->h, '6', 255);
  check_resized(s, s->in_w, s->in_h, MAFAT_FIT_STRETCH);
  bool flat = (float)s->in_w / (float)s->w < (float)s->in_h / (float)s->h;
  int w = flat ? s->in_w : s->w * s->in_h / s->h;
  int h = flat ? s->h * s->in_w / s->w : s->in_h;
  check_resized(s, w, h, MAFAT_FIT_LETTERBOX);
}
END_TEST

/* Where (to - 1) * (499 / (to - 1)) rounds to just under 499, the last of `to`
 * rows comes out almost black, as in Darknet. */
START_TEST(last_row_may_be_black)
{
  int found = 0;
  for (int to = 2; to < 400 && !found; to++)
    if ((int)((float)(to - 1) * ((float)(499) / (float)(to - 1))) == 498) found = to;
  ck_assert_int_gt(found, 0);
  picture_write_ppm(path, 2, 500, '5', 255);
  float *pixels = must_read(2, found, 1, MAFAT_FIT_STRETCH);
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
    picture_write_jpeg(path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC, .orientation = o});
    struct mafat_image *im = NULL;
    ck_assert_int_eq(mafat_image_open(&im, path, &input, NULL), MAFAT_OK);
    ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){pixels, STRIDE}, NULL), MAFAT_OK);
    mafat_image_close(&im);
    for (int i = 0; i < SIDE * STRIDE; i++)
      ck_assert_int_eq(pixels[i] > 1, i % STRIDE >= SIDE * 3);
  }
}
END_TEST

/* ---- Formats. Without resizing, a pixel is its sample. ---- */

static void check_samples(int c, float (*wanted)(int x, int y, int k), double tolerance)
{
  float *pixels = must_read(WIDTH, HEIGHT, c, MAFAT_FIT_LETTERBOX);
  for (int i = 0; i < WIDTH * HEIGHT * c; i++) {
    int x = i / c % WIDTH, y = i / c / WIDTH;
    double error = fabs((double)pixels[i] - (double)wanted(x, y, i % c));
    ck_assert_msg(error <= tolerance, "pixel (%d, %d), channel %d is off by %g", x, y, i % c, error);
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
    {{.colour = PNG_COLOR_TYPE_PALETTE, .depth = 8, .transparency = true, .interlaced = true}, palette_sample},
};

START_TEST(png_pixels)
{
  const struct png_style *style = &pngs[_i].style;
  picture_write_png(path, WIDTH, HEIGHT, style);
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
    picture_write_ppm(path, WIDTH, HEIGHT, kinds[_i], maxvals[i]);
    check_samples(3, coloured ? sample8 : first_sample, 1e-6);
    check_samples(1, coloured ? grey_sample : first_sample, coloured ? 1.01 / 255 : 1e-6);
  }
  if (kinds[_i] != '3') return;
  picture_write_ppm(path, WIDTH, HEIGHT, '3', 100);
  check_samples(3, scaled_of_100, 1e-6);
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
  picture_write_jpeg(path, WIDTH, HEIGHT, &jpegs[_i].style);
  check_samples(3, jpegs[_i].wanted, 0.15); /* quality 90 of a noisy picture */
  if (jpegs[_i].style.colours < JPEG_CMYK)
    check_samples(1, jpegs[_i].style.colours == JPEG_GREY ? first_sample : grey_sample, 0.1);
}
END_TEST

/* ---- Shrinking. ---- */

/* Mean difference of a picture that was shrunk and the same one that was not; the place is the same. */
static double shrunk_difference(int w, int h, enum mafat_fit fit)
{
  float *exact = must_read(w, h, 3, fit), *shrunk = malloc((size_t)(w * h * 3) * sizeof *shrunk);
  ck_assert_ptr_nonnull(shrunk);
  ck_assert_int_eq(read_picture(&(struct mafat_image_input){w, h, 3, .fit = fit, .shrinks = true}, shrunk), MAFAT_OK);
  double sum = 0;
  for (int i = 0; i < w * h * 3; i++) sum += fabs((double)(exact[i] - shrunk[i]));
  free(exact);
  free(shrunk);
  return sum / (w * h * 3);
}

/* A picture of 16 times the input's size, and one that is a pixel too small for the half. */
START_TEST(shrunk_pictures_are_like_exact_ones)
{
  static const struct jpeg_style styles[] = {
      {.colours = JPEG_YCC, .h = 2, .v = 2}, {.colours = JPEG_YCC, .h = 1, .v = 2, .progressive = true},
      {.colours = JPEG_GREY}, {.colours = JPEG_YCCK, .h = 2, .v = 1}, {.colours = JPEG_RGB, .restart_rows = 1}};
  struct jpeg_style style = styles[_i];
  for (style.orientation = 1; style.orientation <= 8; style.orientation++) {
    bool sideways = style.orientation > 4;
    picture_write_jpeg(path, 643, 321, &style);
    double difference = shrunk_difference(sideways ? 20 : 40, sideways ? 40 : 20, MAFAT_FIT_STRETCH);
    ck_assert_msg(difference > 0 && difference < 0.1, "orientation %d: %g", style.orientation, difference);
    ck_assert(shrunk_difference(96, 96, MAFAT_FIT_LETTERBOX) < 0.1);
    picture_write_jpeg(path, 79, 41, &style);
    ck_assert(shrunk_difference(sideways ? 20 : 41, sideways ? 41 : 20, MAFAT_FIT_STRETCH) == 0);
  }
}
END_TEST

START_TEST(only_jpegs_are_shrunk)
{
  picture_write_ppm(path, 200, 100, '6', 255);
  ck_assert(shrunk_difference(20, 10, MAFAT_FIT_STRETCH) == 0);
  picture_write_png(path, 200, 100, &(struct png_style){.colour = PNG_COLOR_TYPE_RGB, .depth = 8});
  ck_assert(shrunk_difference(20, 10, MAFAT_FIT_STRETCH) == 0);
}
END_TEST

START_TEST(netpbm_text_is_free_form)
{
  static const char text[] = "P3#x\n#y\r3\t1 # z\n\v15\f# 1 2 3\n 15 0 0\n0 99 0#\n0 0 5";
  picture_write_bytes(path, text, sizeof text - 1);
  float *p = must_read(3, 1, 3, MAFAT_FIT_STRETCH);
  ck_assert(p[0] == 1 && p[1] == 0 && p[4] == 1 && p[8] > 0.33f && p[8] < 0.34f);
  free(p);
}
END_TEST

/* ---- Turning. ---- */

/* The stored position of an upright pixel. */
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
  ck_assert_int_eq(mafat_image_open(&im, path, &input, NULL), MAFAT_OK);
  const struct mafat_image_info *info = mafat_image_describe(im);
  ck_assert_int_eq(info->width, w);
  ck_assert_int_eq(info->height, h);
  ck_assert_int_eq(info->orientation, o);
  ck_assert_int_eq(info->turned, o > 2);
  mafat_image_close(&im);

  float *pixels = must_read(w, h, 3, MAFAT_FIT_LETTERBOX);
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
  picture_write_jpeg(path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC, .h = 2, .v = 2});
  float *stored = must_read(WIDTH, HEIGHT, 3, MAFAT_FIT_STRETCH);
  for (int i = 0; i < 4; i++) {
    struct jpeg_style style = {.colours = JPEG_YCC, .h = 2, .v = 2, .orientation = o,
                               .big_endian = i & 1, .progressive = i & 2};
    picture_write_jpeg(path, WIDTH, HEIGHT, &style);
    check_turned(o, stored);
  }
  free(stored);

  struct png_style style = {.colour = PNG_COLOR_TYPE_RGB, .depth = 8};
  picture_write_png(path, WIDTH, HEIGHT, &style);
  stored = must_read(WIDTH, HEIGHT, 3, MAFAT_FIT_STRETCH);
  style.orientation = o;
  for (int i = 0; i < 4; i++) {
    style.exif_behind = i & 1;
    style.interlaced = i & 2;
    picture_write_png(path, WIDTH, HEIGHT, &style);
    check_turned(o, stored);
  }
  free(stored);
}
END_TEST

START_TEST(exif_that_does_not_count)
{
  picture_write_jpeg(path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC});
  float *stored = must_read(WIDTH, HEIGHT, 3, MAFAT_FIT_STRETCH);
  picture_write_jpeg(path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 9});
  check_turned(1, stored);
  picture_write_jpeg(path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 6, .xmp_first = true});
  check_turned(1, stored);
  free(stored);
}
END_TEST

/* ---- Rows. ---- */

START_TEST(rows_are_what_read_reads)
{
  static const struct mafat_image_input inputs[] = {
      {40, 64, 3, .fit = MAFAT_FIT_LETTERBOX}, {64, 20, 1, .fit = MAFAT_FIT_LETTERBOX}, {30, 31, 3, .fit = MAFAT_FIT_STRETCH}};
  const struct mafat_image_input *input = &inputs[_i];
  picture_write_jpeg(path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 2});
  float *whole = must_read(input->w, input->h, input->c, input->fit), row[64 * 3];
  struct mafat_image *im = NULL;
  ck_assert_int_eq(mafat_image_open(&im, path, input, NULL), MAFAT_OK);
  size_t n = (size_t)(input->w * input->c);
  for (int y = 0; y < input->h; y++) {
    ck_assert_int_eq(mafat_image_read_row(im, row, NULL), MAFAT_OK);
    ck_assert_int_eq(memcmp(row, whole + (size_t)y * n, n * sizeof *row), 0);
  }
  ck_assert_int_eq(mafat_image_read_row(im, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){whole, n}, NULL), MAFAT_EINVAL);
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
  picture_write_jpeg(path, WIDTH, HEIGHT, &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 4});
  struct mafat_image *im = NULL;
  ck_assert_int_eq(mafat_image_open(&im, path, &input, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_image_read_row(im, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){pixels, 96}, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_image_read(im, &(struct mafat_image_target){pixels, 96}, NULL), MAFAT_EINVAL);
  mafat_image_close(&im);
}
END_TEST

/* ---- Damage. ---- */

static void write_case(int i, const char *to)
{
  switch (i) {
  case 0: picture_write_jpeg(to, 29, 21, &(struct jpeg_style){.colours = JPEG_YCC, .orientation = 6}); break;
  case 1: picture_write_jpeg(to, 29, 21, &(struct jpeg_style){.colours = JPEG_YCC, .progressive = true}); break;
  case 2: picture_write_jpeg(to, 29, 21, &(struct jpeg_style){.colours = JPEG_CMYK, .restart_rows = 1}); break;
  case 3: picture_write_png(to, 29, 21, &(struct png_style){.colour = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 16}); break;
  case 4: picture_write_png(to, 29, 21, &(struct png_style){.colour = PNG_COLOR_TYPE_PALETTE, .depth = 4, .interlaced = true, .orientation = 5}); break;
  case 5: picture_write_ppm(to, 29, 21, '6', 255); break;
  case 6: picture_write_ppm(to, 29, 21, '5', 1000); break;
  case 7: picture_write_ppm(to, 29, 21, '3', 255); break;
  }
}

enum { N_CASES = 8, PLAIN_PPM = 7 };

START_TEST(truncated_files_are_refused)
{
  size_t n;
  write_case(_i, path);
  uint8_t *bytes = picture_read_bytes(path, &n);
  /* A plain file may lose its last blank, and digits of its last number. */
  size_t end = _i == PLAIN_PPM ? n - 4 : n;
  for (size_t k = 1; k < end; k += k < 700 ? 1 : 7) {
    picture_write_bytes(path, bytes, k);
    must_fail(MAFAT_EFORMAT);
  }
  picture_write_bytes(path, bytes, 0);
  must_fail(MAFAT_EFORMAT);
  free(bytes);
}
END_TEST

/* libjpeg would fill such a picture up with grey. */
START_TEST(jpeg_data_may_not_end_early)
{
  for (int i = 0; i < 3; i++) {
    size_t n;
    write_case(i, path);
    uint8_t *bytes = picture_read_bytes(path, &n);
    memcpy(bytes + n - 40, "\xff\xd9", 2);
    picture_write_bytes(path, bytes, n - 38);
    free(bytes);
    must_fail(MAFAT_EFORMAT);
  }
}
END_TEST

START_TEST(damaged_files_are_harmless)
{
  size_t n;
  static float pixels[32 * 32 * 3];
  static const struct mafat_image_input input = {32, 32, 3, .fit = MAFAT_FIT_LETTERBOX};
  write_case(_i, path);
  uint8_t *bytes = picture_read_bytes(path, &n);
  for (size_t k = 0; k < n; k += k < 700 ? 1 : 7) {
    uint8_t kept = bytes[k];
    static const uint8_t values[] = {0, 0xff, 0x80};
    for (size_t v = 0; v < sizeof values; v++) {
      bytes[k] = values[v];
      picture_write_bytes(path, bytes, n);
      struct mafat_image *im = NULL;
      diagnostic.text[0] = 0;
      int code = mafat_image_open(&im, path, &input, &diagnostic);
      if (code == MAFAT_OK && mafat_image_bytes(im) < (size_t)8 << 20)
        code = mafat_image_read(im, &(struct mafat_image_target){pixels, 96}, &diagnostic);
      mafat_image_close(&im);
      ck_assert(code == MAFAT_OK || diagnostic.text[0]);
    }
    bytes[k] = kept;
  }
  free(bytes);
}
END_TEST

START_TEST(libraries_print_nothing)
{
  char log[160];
  snprintf(log, sizeof log, "%s/log", folder);
  int old = dup(STDERR_FILENO), fd = open(log, O_RDWR | O_CREAT, 0600);
  ck_assert_int_ge(fd, 0);
  dup2(fd, STDERR_FILENO);
  for (int i = 0; i < N_CASES; i++) {
    size_t n;
    static float pixels[32 * 32 * 3];
    write_case(i, path);
    uint8_t *bytes = picture_read_bytes(path, &n);
    for (size_t k = 40; k < n; k += 11) {
      uint8_t kept = bytes[k];
      bytes[k] ^= 0xff;
      picture_write_bytes(path, bytes, n);
      read_picture(&(struct mafat_image_input){32, 32, 3, .fit = MAFAT_FIT_LETTERBOX}, pixels);
      bytes[k] = kept;
    }
    free(bytes);
  }
  dup2(old, STDERR_FILENO);
  close(old);
  struct stat st;
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_int_eq(st.st_size, 0);
  close(fd);
  unlink(log);
}
END_TEST

/* ---- What is not a picture, or too much of one. ---- */

static const struct {
  const char *bytes;
  int code;
} texts[] = {
    {"", MAFAT_EFORMAT},
    {"P", MAFAT_EFORMAT},
    {"P6", MAFAT_EFORMAT},
    {"hello, world", MAFAT_EFORMAT},
    {"GIF89a", MAFAT_EFORMAT},
    {"P4\n8 1\n\xff", MAFAT_EUNSUPPORTED},
    {"P1\n1 1\n1", MAFAT_EUNSUPPORTED},
    {"P7\nWIDTH 1\n", MAFAT_EUNSUPPORTED},
    {"P6\n", MAFAT_EFORMAT},
    {"P6\n1 x 255\n", MAFAT_EFORMAT},
    {"P6\n-1 1 255\n", MAFAT_EFORMAT},
    {"P6\n0 1 255\n", MAFAT_EFORMAT},
    {"P6\n1 0 255\n", MAFAT_EFORMAT},
    {"P6\n1 1 0\n", MAFAT_EFORMAT},
    {"P6\n1 1 65536\n", MAFAT_EFORMAT},
    {"P6\n1048577 1 255\n", MAFAT_EUNSUPPORTED},
    {"P5\n1 99999999999999999999 255\n", MAFAT_EUNSUPPORTED},
    {"P3\n1 1 255\n1 2 -3", MAFAT_EFORMAT},
    {"P3\n1 1 255\n1 2 # 3", MAFAT_EFORMAT},
    {"\xff\xd8\xff", MAFAT_EFORMAT},
    {"\xff\xd8\xff\xd9", MAFAT_EFORMAT},
    {"\xff\xd8\xff\xe1", MAFAT_EFORMAT},
    {"\x89PNG\r\n\x1a\n", MAFAT_EFORMAT},
};

START_TEST(other_content_is_refused)
{
  picture_write_bytes(path, texts[_i].bytes, strlen(texts[_i].bytes));
  must_fail(texts[_i].code);
}
END_TEST

START_TEST(other_files_are_refused)
{
  must_fail(MAFAT_EIO); /* missing */
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  must_fail(MAFAT_EIO);
  unlink(path);
  char kept[sizeof path];
  memcpy(kept, path, sizeof path);
  memcpy(path, folder, sizeof folder);
  must_fail(MAFAT_EIO);
  strcpy(path, "/dev/zero");
  must_fail(MAFAT_EIO);
  memcpy(path, kept, sizeof path);
}
END_TEST

START_TEST(other_inputs_are_refused)
{
  static const struct mafat_image_input inputs[] = {
      {0, 8, 3, .fit = MAFAT_FIT_LETTERBOX}, {8, -1, 3, .fit = MAFAT_FIT_LETTERBOX}, {8, 8, 2, .fit = MAFAT_FIT_LETTERBOX}, {8, 8, 4, .fit = MAFAT_FIT_STRETCH}};
  picture_write_ppm(path, 2, 2, '6', 255);
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    struct mafat_image *im = NULL;
    ck_assert_int_eq(mafat_image_open(&im, path, &inputs[i], NULL), MAFAT_EINVAL);
    ck_assert_ptr_null(im);
  }
}
END_TEST

static size_t declared_bytes(void)
{
  static const struct mafat_image_input input = {32, 32, 3, .fit = MAFAT_FIT_LETTERBOX};
  struct mafat_image *im = NULL;
  int code = mafat_image_open(&im, path, &input, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert(mafat_image_describe(im)->whole);
  size_t bytes = mafat_image_bytes(im);
  mafat_image_close(&im);
  return bytes;
}

/* Rewrites the size in a file's header. */
static void declare_jpeg(int side)
{
  size_t n;
  uint8_t *bytes = picture_read_bytes(path, &n);
  uint8_t *frame = memmem(bytes, n, "\xff\xc2", 2);
  ck_assert_ptr_nonnull(frame);
  for (int i = 5; i < 9; i++) frame[i] = (uint8_t)(i % 2 ? side >> 8 : side);
  picture_write_bytes(path, bytes, n);
  free(bytes);
}

static void declare_png(int side)
{
  size_t n;
  uint8_t *bytes = picture_read_bytes(path, &n);
  for (int i = 0; i < 8; i++) bytes[16 + i] = (uint8_t)(side >> (24 - 8 * (i % 4)));
  uint32_t crc = (uint32_t)crc32(0, bytes + 12, 17);
  for (int i = 0; i < 4; i++) bytes[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
  picture_write_bytes(path, bytes, n);
  free(bytes);
}

/* A small file that says it is large costs nothing until it is read. */
START_TEST(bombs_declare_themselves)
{
  picture_write_jpeg(path, 16, 16, &(struct jpeg_style){.colours = JPEG_YCC, .progressive = true});
  declare_jpeg(30000);
  ck_assert_uint_gt(declared_bytes(), (size_t)30000 * 30000 * 3 * 2);
  declare_jpeg(60000);
  must_fail(MAFAT_EUNSUPPORTED);

  picture_write_png(path, 16, 16, &(struct png_style){.colour = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = true});
  declare_png(30000);
  ck_assert_uint_gt(declared_bytes(), (size_t)30000 * 30000 * 3);
  declare_png(60000);
  must_fail(MAFAT_EUNSUPPORTED);
}
END_TEST

/* ---- Memory. ---- */

static size_t heap_in_use(void)
{
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/* The most heap seen between rows; libraries allocate before the first row and
 * free after the last. Under valgrind and sanitizers it is 0. */
static size_t measure_rows(int c, bool shrinks, size_t *promised)
{
  struct mafat_image_input input = {416, 416, c, .fit = MAFAT_FIT_LETTERBOX, .shrinks = shrinks};
  float row[416 * 3];
  size_t before = heap_in_use(), most = 0;
  struct mafat_image *im = NULL;
  ck_assert_int_eq(mafat_image_open(&im, path, &input, NULL), MAFAT_OK);
  *promised = mafat_image_bytes(im);
  for (int y = 0; y < input.h; y++) {
    int code = mafat_image_read_row(im, row, &diagnostic);
    ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
    size_t now = heap_in_use();
    if (now > before && now - before > most) most = now - before;
  }
  mafat_image_close(&im);
  return most;
}

/* 12 megapixels; path holds the picture already. */
static void check_memory(const char *kind, bool small)
{
  for (int i = 0; i < 4; i++) {
    size_t promised, most = measure_rows(i % 2 ? 3 : 1, i / 2, &promised);
    ck_assert_msg(most <= promised, "%s: %zu bytes used, %zu promised", kind, most, promised);
    ck_assert_msg(most == 0 || promised <= most + most / 2 + 100000, "%s: %zu bytes used, %zu promised", kind, most, promised);
    if (small) ck_assert_msg(promised < 1000000, "%s: %zu bytes", kind, promised);
  }
}

START_TEST(bytes_bound_what_is_used)
{
  enum { W = 4000, H = 3000 };
  switch (_i) {
  case 0:
    picture_write_jpeg(path, W, H, &(struct jpeg_style){.colours = JPEG_YCC, .h = 2, .v = 2, .orientation = 2});
    check_memory("baseline JPEG", true);
    size_t promised, assumed = mafat_image_bytes_assumed(&(struct mafat_image_input){416, 416, 3, .fit = MAFAT_FIT_LETTERBOX});
    measure_rows(3, false, &promised);
    ck_assert_uint_ge(assumed, promised);
    size_t shrunk, less = mafat_image_bytes_assumed(&(struct mafat_image_input){416, 416, 3, .shrinks = true});
    measure_rows(3, true, &shrunk);
    ck_assert_uint_ge(less, shrunk);
    ck_assert_uint_lt(shrunk, promised / 2);
    ck_assert_uint_lt(less, assumed / 2);
    ck_assert_uint_lt(assumed, 1000000);
    break;
  case 1:
    picture_write_png(path, W, H, &(struct png_style){.colour = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 16});
    check_memory("PNG", true);
    break;
  case 2:
    picture_write_ppm(path, W, H, '6', 255);
    check_memory("PPM", true);
    break;
  case 3:
    picture_write_jpeg(path, W, H, &(struct jpeg_style){.colours = JPEG_CMYK});
    check_memory("CMYK JPEG", true);
    break;
  case 4:
    picture_write_jpeg(path, W, H, &(struct jpeg_style){.colours = JPEG_YCC, .h = 2, .v = 2, .progressive = true});
    check_memory("progressive JPEG", false);
    break;
  case 5:
    picture_write_png(path, W / 4, H / 4, &(struct png_style){.colour = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = true});
    check_memory("interlaced PNG", false);
    break;
  }
}
END_TEST

/* Pages of the picture's file that are in the page cache. */
static size_t cached_bytes(void)
{
  size_t n = 0;
  int fd = open(path, O_RDONLY);
  struct stat st;
  ck_assert(fd >= 0 && fstat(fd, &st) == 0);
  void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
  ck_assert(map != MAP_FAILED);
  n = mafat_process_resident_bytes_of(map, (size_t)st.st_size);
  munmap(map, (size_t)st.st_size);
  close(fd);
  return n;
}

static void evict(void)
{
  int fd = open(path, O_RDONLY);
  ck_assert(fd >= 0 && fsync(fd) == 0);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

/* PNG in chunks of 8 KB, all of which are stepped over when it is opened. */
START_TEST(large_files_take_little_page_cache)
{
  enum { W = 1200, H = 900 };
  static float row[64 * 3];
  const struct mafat_image_input input = {64, 48, 3, .fit = MAFAT_FIT_STRETCH};
  const struct png_style style = {.colour = PNG_COLOR_TYPE_RGB, .depth = 8};
  const size_t window = _i ? MAFAT_IMAGE_PIXELS_WINDOW : MAFAT_IMAGE_FILE_WINDOW;
  struct mafat_image *im;
  if (_i) picture_write_ppm(path, W, H, '6', 255);
  else picture_write_png(path, W, H, &style);
  evict();
  if (cached_bytes() > 0) {
    printf("skip the page cache: what is written to %s stays in it\n", folder);
    return;
  }
  ck_assert_int_eq(mafat_image_open(&im, path, &input, &diagnostic), MAFAT_OK);
  ck_assert_uint_eq(mafat_image_file_bytes(im), window);
  ck_assert_uint_le(cached_bytes(), window);
  for (int y = 0; y < input.h; y++) {
    ck_assert_int_eq(mafat_image_read_row(im, row, &diagnostic), MAFAT_OK);
    ck_assert_uint_le(cached_bytes(), window);
  }
  mafat_image_close(&im);
  ck_assert_uint_eq(cached_bytes(), 0);
}
END_TEST

/* What was in the page cache before is charged to whoever brought it there, and stays. Whoever drops all of the machine's
 * cached pages in between is allowed to twice. */
START_TEST(a_cached_file_stays_cached)
{
  enum { SIDE = 400 };
  size_t n, before = 1, after = 0;
  picture_write_ppm(path, SIDE, SIDE, '6', 255);
  for (int i = 0; i < 3 && after < before; i++) {
    free(picture_read_bytes(path, &n));
    ck_assert_uint_gt(n, MAFAT_IMAGE_PIXELS_WINDOW);
    before = cached_bytes();
    free(must_read(SIDE, SIDE, 3, MAFAT_FIT_STRETCH));
    after = cached_bytes();
  }
  ck_assert_uint_ge(after, before);
}
END_TEST

Suite *image_suite(void)
{
  static const int n_pngs = sizeof pngs / sizeof *pngs, n_jpegs = sizeof jpegs / sizeof *jpegs;
  static const int n_texts = sizeof texts / sizeof *texts;
  Suite *suite = suite_create("image");

  TCase *pixels = tcase_create("pixels");
  tcase_add_checked_fixture(pixels, make_folder, remove_folder);
  tcase_set_timeout(pixels, 60);
  tcase_add_loop_test(pixels, resizing_is_darknets, 0, N_SHAPES);
  tcase_add_test(pixels, last_row_may_be_black);
  tcase_add_test(pixels, target_may_be_wider_than_the_input);
  tcase_add_loop_test(pixels, png_pixels, 0, n_pngs);
  tcase_add_loop_test(pixels, ppm_pixels, 0, 4);
  tcase_add_loop_test(pixels, jpeg_pixels, 0, n_jpegs);
  tcase_add_loop_test(pixels, shrunk_pictures_are_like_exact_ones, 0, 5);
  tcase_add_test(pixels, only_jpegs_are_shrunk);
  tcase_add_test(pixels, netpbm_text_is_free_form);
  tcase_add_loop_test(pixels, orientations, 1, 9);
  tcase_add_test(pixels, exif_that_does_not_count);
  tcase_add_loop_test(pixels, rows_are_what_read_reads, 0, 3);
  tcase_add_test(pixels, turned_pictures_have_no_rows);
  suite_add_tcase(suite, pixels);

  TCase *damage = tcase_create("damage");
  tcase_add_checked_fixture(damage, make_folder, remove_folder);
  tcase_set_timeout(damage, 120);
  tcase_add_loop_test(damage, truncated_files_are_refused, 0, N_CASES);
  tcase_add_test(damage, jpeg_data_may_not_end_early);
  tcase_add_loop_test(damage, damaged_files_are_harmless, 0, N_CASES);
  tcase_add_test(damage, libraries_print_nothing);
  tcase_add_loop_test(damage, other_content_is_refused, 0, n_texts);
  tcase_add_test(damage, other_files_are_refused);
  tcase_add_test(damage, other_inputs_are_refused);
  tcase_add_test(damage, bombs_declare_themselves);
  suite_add_tcase(suite, damage);

  TCase *memory = tcase_create("memory");
  tcase_add_checked_fixture(memory, make_folder, remove_folder);
  tcase_set_timeout(memory, 120);
  tcase_add_loop_test(memory, bytes_bound_what_is_used, 0, test_slow_rows(6));
  tcase_add_loop_test(memory, large_files_take_little_page_cache, 0, 2);
  tcase_add_test(memory, a_cached_file_stays_cached);
  suite_add_tcase(suite, memory);
  return suite;
}
