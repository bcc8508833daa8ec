/* Compares the picture reader with Debian's libdarknet (load_image_color(), letterbox_image(),
 * resize_image()), on Darknet's pictures, those of the command line, and generated ones of every
 * format. Prints a line for each picture. Exit status 0: all are within the tolerance. Started
 * by tests/oracle/run.sh. */
#include <darknet.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/image/image.h"
#include "tests/support/picture_writer.h"

static const double TOLERANCE = 1e-6;

/* Replaces libdarknet's function, which swaps plane 0 with plane 2 even in grey pictures. */
void rgbgr_image(image im);
void rgbgr_image(image im)
{
  if (im.c != 3) return;
  for (int i = 0; i < im.w * im.h; i++) {
    float swap = im.data[i];
    im.data[i] = im.data[i + 2 * im.w * im.h];
    im.data[i + 2 * im.w * im.h] = swap;
  }
}

static double difference(const image *darknet, const float *ours)
{
  double worst = 0;
  for (int k = 0; k < darknet->c; k++)
    for (int i = 0; i < darknet->w * darknet->h; i++) {
      double d = fabs((double)darknet->data[k * darknet->w * darknet->h + i] -
                      (double)ours[i * darknet->c + k]);
      if (!(d <= worst)) worst = d; /* also true for NaN */
    }
  return worst;
}

/* Largest difference of two elements; infinite if mafat cannot read the picture. */
static double compare(const char *path, const image *loaded, const struct mafat_image_input *input)
{
  image wanted = input->fit == MAFAT_FIT_LETTERBOX ? letterbox_image(*loaded, input->w, input->h)
                                                   : resize_image(*loaded, input->w, input->h);
  size_t stride = (size_t)(input->w * input->c);
  float *pixels = malloc(stride * (size_t)input->h * sizeof *pixels);
  struct mafat_image *im = NULL;
  struct mafat_diagnostic d = {""};
  int code = mafat_image_open(&im, path, input, &d);
  if (code == MAFAT_OK)
    code = mafat_image_read(im, &(struct mafat_image_target){pixels, stride}, &d);
  if (code != MAFAT_OK) printf("%s\n", d.text);
  double result = code == MAFAT_OK ? difference(&wanted, pixels) : INFINITY;
  mafat_image_close(&im);
  free(pixels);
  free_image(wanted);
  return result;
}

static bool check(const char *path, const char *name)
{
  static const int sizes[][2] = {{416, 416}, {608, 608}, {320, 224}, {33, 97}, {7, 2}};
  bool good = true;
  for (int c = 1; c <= 3; c += 2) {
    image loaded = load_image((char *)path, 0, 0, c);
    double worst[2] = {0, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      for (int fit = 0; fit < 2; fit++) {
        struct mafat_image_input input = {sizes[i][0], sizes[i][1], c, .fit = (enum mafat_fit)fit};
        worst[fit] = fmax(worst[fit], compare(path, &loaded, &input));
      }
    bool within = worst[0] <= TOLERANCE && worst[1] <= TOLERANCE;
    good &= within;
    printf("%-4s %-34s %4dx%-4d %s letterbox %.1e stretch %.1e\n", within ? "ok" : "FAIL", name,
           loaded.w, loaded.h, c == 3 ? "colour" : "grey  ", worst[0], worst[1]);
    free_image(loaded);
  }
  return good;
}

enum { WIDTH = 173, HEIGHT = 121 };

static bool check_jpegs(const char *path)
{
  static const struct {
    const char *name;
    struct jpeg_style style;
  } cases[] = {
      {"jpeg 4:4:4", {.colours = JPEG_YCC}},
      {"jpeg 4:2:2", {.colours = JPEG_YCC, .h = 2}},
      {"jpeg 4:4:0", {.colours = JPEG_YCC, .v = 2}},
      {"jpeg 4:2:0", {.colours = JPEG_YCC, .h = 2, .v = 2}},
      {"jpeg 4:1:1", {.colours = JPEG_YCC, .h = 4}},
      {"jpeg 4:1:0", {.colours = JPEG_YCC, .h = 4, .v = 2}},
      {"jpeg rgb", {.colours = JPEG_RGB}},
      {"jpeg grey", {.colours = JPEG_GREY}},
      {"jpeg cmyk", {.colours = JPEG_CMYK}},
      {"jpeg ycck", {.colours = JPEG_YCCK, .h = 2, .v = 2}},
      {"jpeg progressive", {.colours = JPEG_YCC, .h = 2, .v = 2, .progressive = true}},
      {"jpeg progressive grey", {.colours = JPEG_GREY, .progressive = true}},
      {"jpeg progressive cmyk", {.colours = JPEG_CMYK, .progressive = true}},
      {"jpeg arithmetic", {.colours = JPEG_YCC, .arithmetic = true}},
      {"jpeg restarts", {.colours = JPEG_YCC, .restart_rows = 1}},
      {"jpeg exif big-endian 6", {.colours = JPEG_YCC, .orientation = 6, .big_endian = true}},
      {"jpeg exif behind xmp", {.colours = JPEG_YCC, .orientation = 6, .xmp_first = true}},
      {"jpeg exif 9", {.colours = JPEG_YCC, .orientation = 9}},
      {"jpeg progressive exif 8", {.colours = JPEG_YCC, .progressive = true, .orientation = 8}},
      {"jpeg grey exif 5", {.colours = JPEG_GREY, .orientation = 5}},
      {"jpeg cmyk exif 7", {.colours = JPEG_CMYK, .orientation = 7}},
  };
  bool good = true;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    picture_write_jpeg(path, WIDTH, HEIGHT, &cases[i].style);
    good &= check(path, cases[i].name);
  }
  for (int o = 1; o <= 8; o++) {
    char name[32];
    snprintf(name, sizeof name, "jpeg exif %d", o);
    struct jpeg_style style = {.colours = JPEG_YCC, .h = 2, .v = 2, .orientation = o};
    picture_write_jpeg(path, WIDTH, HEIGHT, &style);
    good &= check(path, name);
  }
  return good;
}

static bool check_pngs(const char *path)
{
  enum { GREY = PNG_COLOR_TYPE_GRAY, RGB = PNG_COLOR_TYPE_RGB, PALETTE = PNG_COLOR_TYPE_PALETTE,
         GREY_ALPHA = PNG_COLOR_TYPE_GRAY_ALPHA, RGB_ALPHA = PNG_COLOR_TYPE_RGB_ALPHA };
  static const struct {
    const char *name;
    struct png_style style;
  } cases[] = {
      {"png rgb", {.colour = RGB, .depth = 8}},
      {"png rgb 16", {.colour = RGB, .depth = 16}},
      {"png rgb tRNS", {.colour = RGB, .depth = 8, .transparency = true}},
      {"png rgba", {.colour = RGB_ALPHA, .depth = 8}},
      {"png rgba 16", {.colour = RGB_ALPHA, .depth = 16}},
      {"png grey", {.colour = GREY, .depth = 8}},
      {"png grey 1", {.colour = GREY, .depth = 1}},
      {"png grey 2", {.colour = GREY, .depth = 2}},
      {"png grey 4", {.colour = GREY, .depth = 4}},
      {"png grey 4 tRNS", {.colour = GREY, .depth = 4, .transparency = true}},
      {"png grey 16", {.colour = GREY, .depth = 16}},
      {"png grey tRNS", {.colour = GREY, .depth = 8, .transparency = true}},
      {"png grey alpha", {.colour = GREY_ALPHA, .depth = 8}},
      {"png grey alpha 16", {.colour = GREY_ALPHA, .depth = 16}},
      {"png palette 1", {.colour = PALETTE, .depth = 1}},
      {"png palette 4", {.colour = PALETTE, .depth = 4}},
      {"png palette 8", {.colour = PALETTE, .depth = 8}},
      {"png palette tRNS", {.colour = PALETTE, .depth = 8, .transparency = true}},
      {"png rgb gamma", {.colour = RGB, .depth = 8, .gamma = true}},
      {"png rgb 16 gamma", {.colour = RGB, .depth = 16, .gamma = true}},
      {"png palette gamma", {.colour = PALETTE, .depth = 8, .gamma = true}},
      {"png interlaced rgb", {.colour = RGB, .depth = 8, .interlaced = true}},
      {"png interlaced grey 1", {.colour = GREY, .depth = 1, .interlaced = true}},
      {"png interlaced rgba 16", {.colour = RGB_ALPHA, .depth = 16, .interlaced = true}},
      {"png interlaced palette", {.colour = PALETTE, .depth = 8, .interlaced = true}},
      {"png exif 6", {.colour = RGB, .depth = 8, .orientation = 6}},
      {"png exif 3 behind", {.colour = RGB, .depth = 8, .orientation = 3, .exif_after = true}},
      {"png interlaced exif 7", {.colour = RGB, .depth = 8, .interlaced = true, .orientation = 7}},
  };
  bool good = true;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    picture_write_png(path, WIDTH, HEIGHT, &cases[i].style);
    good &= check(path, cases[i].name);
  }
  return good;
}

static bool check_ppms(const char *path)
{
  static const char kinds[] = "2356";
  static const int maxvals[] = {255, 1, 100, 256, 1023, 65535};
  bool good = true;
  for (const char *kind = kinds; *kind; kind++)
    for (size_t i = 0; i < sizeof maxvals / sizeof *maxvals; i++) {
      char name[32];
      snprintf(name, sizeof name, "ppm P%c maxval %d", *kind, maxvals[i]);
      picture_write_ppm(path, WIDTH, HEIGHT, *kind, maxvals[i]);
      good &= check(path, name);
    }
  return good;
}

/* Pictures of unusual proportions. None of them is resized to a height of 1, for which Darknet
 * divides by zero and aborts. */
static bool check_shapes(const char *path)
{
  static const int shapes[][2] = {{1, 1},   {1, 9},   {9, 1},    {2, 2},
                                  {3, 500}, {900, 2}, {1, 2000}, {1200, 700}};
  bool good = true;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    int w = shapes[i][0], h = shapes[i][1];
    static const int sizes[][2] = {{416, 416}, {608, 608}, {320, 224}, {33, 97}, {7, 2}};
    bool divides = false;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      divides |= (float)sizes[k][0] / w < (float)sizes[k][1] / h && h * sizes[k][0] / w == 1;
    if (divides) continue;
    char name[32];
    snprintf(name, sizeof name, "shape %dx%d", w, h);
    picture_write_ppm(path, w, h, '6', 255);
    good &= check(path, name);
  }
  return good;
}

int main(int argc, char **argv)
{
  static const char *darknets[] = {"dog", "eagle", "giraffe", "horses", "kite", "person", "scream"};
  bool good = true;
  char path[128];
  for (size_t i = 0; i < sizeof darknets / sizeof *darknets; i++) {
    snprintf(path, sizeof path, "/usr/share/darknet/data/%s.jpg", darknets[i]);
    if (access(path, R_OK) == 0) good &= check(path, darknets[i]);
  }
  for (int i = 1; i < argc; i++) good &= check(argv[i], argv[i]);

  char folder[] = "/tmp/mafat-oracle-XXXXXX";
  if (!mkdtemp(folder)) {
    perror(folder);
    return 1;
  }
  snprintf(path, sizeof path, "%s/picture", folder);
  good &= check_jpegs(path);
  good &= check_pngs(path);
  good &= check_ppms(path);
  good &= check_shapes(path);
  unlink(path);
  rmdir(folder);
  printf("%s\n", good ? "all within the tolerance" : "NOT all within the tolerance");
  return good ? 0 : 1;
}
