/* Host program of tests/arm.sh: prepares inputs and compares outputs of emulated programs.
 *
 *   floats picture PICTURE W H FILE.raw FILE.ppm
 *       writes the picture letterboxed to W x H: as raw floats for --input (channel by
 *       channel), and as a PPM for builds without other decoders
 *   floats compare FOUND EXPECTED TOLERANCE
 *       compares two files of floats: exit status 1 if any differs by more than TOLERANCE
 *       times the largest expected magnitude. TOLERANCE 0: the bits must be equal. */
#include "runner/image/image.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, DIFFERENT = 1, FAILED = 2, CHANNELS = 3 };

static int fail(const char *name, const char *what)
{
  fprintf(stderr, "floats: %s: %s\n", name, what);
  return FAILED;
}

/* ---- picture ---- */

static bool write_raw(const char *path, const float *pixels, size_t n_pixels)
{
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool good = true;
  for (size_t c = 0; c < CHANNELS && good; c++)
    for (size_t i = 0; i < n_pixels && good; i++)
      good = fwrite(&pixels[i * CHANNELS + c], sizeof *pixels, 1, file) == 1;
  return fclose(file) == 0 && good;
}

static bool write_ppm(const char *path, const float *pixels, int w, int h)
{
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  fprintf(file, "P6\n%d %d\n255\n", w, h);
  for (size_t i = 0; i < (size_t)w * (size_t)h * CHANNELS; i++)
    putc((int)lrintf(pixels[i] * 255), file);
  bool good = !ferror(file);
  return fclose(file) == 0 && good;
}

static int picture(char **args)
{
  const char *path = args[0];
  struct mafat_image_input input = {.w = atoi(args[1]), .h = atoi(args[2]), .c = CHANNELS,
                                    .fit = MAFAT_FIT_LETTERBOX};
  struct mafat_diagnostic d = {""};
  struct mafat_image *image = NULL;
  if (input.w < 1 || input.h < 1) return fail(path, "expected a width and a height of at least 1");
  size_t n_pixels = (size_t)input.w * (size_t)input.h;
  float *pixels = calloc(n_pixels, CHANNELS * sizeof *pixels);
  if (!pixels) return fail(path, "out of memory");
  int status = DONE, code = mafat_image_open(&image, path, &input, &d);
  struct mafat_image_target target = {pixels, (size_t)input.w * CHANNELS};
  if (code == MAFAT_OK) code = mafat_image_read(image, &target, &d);
  mafat_image_close(&image);
  if (code) status = fail(path, d.text);
  else if (!write_raw(args[3], pixels, n_pixels)) status = fail(args[3], "cannot write");
  else if (!write_ppm(args[4], pixels, input.w, input.h)) status = fail(args[4], "cannot write");
  free(pixels);
  return status;
}

/* ---- compare ---- */

static float *read_floats(const char *path, size_t *n)
{
  FILE *file = fopen(path, "rb");
  float *list = NULL;
  if (!file) return NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    long bytes = ftell(file);
    *n = bytes > 0 ? (size_t)bytes / sizeof *list : 0;
    rewind(file);
    list = *n ? malloc(*n * sizeof *list) : NULL;
    if (list && fread(list, sizeof *list, *n, file) != *n) {
      free(list);
      list = NULL;
    }
  }
  fclose(file);
  return list;
}

/* A NaN on either side is a difference. */
static int compare_floats(const float *found, const float *expected, size_t n, double tolerance)
{
  double largest = 0, difference = 0;
  size_t n_bits = 0, n_wrong = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)expected[i]));
  for (size_t i = 0; i < n; i++) {
    double here = fabs((double)found[i] - (double)expected[i]);
    bool same = memcmp(&found[i], &expected[i], sizeof *found) == 0;
    n_bits += !same;
    n_wrong += tolerance > 0 ? !(here <= tolerance * largest) : !same;
    difference = fmax(difference, here);
  }
  printf("%zu of %zu differ, by at most %.2g of %.3g\n", n_bits, n, difference, largest);
  return n_wrong ? DIFFERENT : DONE;
}

static int compare(char **args)
{
  size_t n = 0, n_expected = 0;
  float *found = read_floats(args[0], &n), *expected = read_floats(args[1], &n_expected);
  int status = DONE;
  if (!found || !expected) status = fail(found ? args[1] : args[0], "cannot read");
  else if (n != n_expected) status = fail(args[0], "its length differs from the expected file's");
  else status = compare_floats(found, expected, n, strtod(args[2], NULL));
  free(found);
  free(expected);
  return status;
}

int main(int argc, char **argv)
{
  if (argc == 7 && strcmp(argv[1], "picture") == 0) return picture(argv + 2);
  if (argc == 5 && strcmp(argv[1], "compare") == 0) return compare(argv + 2);
  fputs("usage: floats picture PICTURE W H FILE.raw FILE.ppm | floats compare FOUND EXPECTED "
        "TOLERANCE\n",
        stderr);
  return FAILED;
}
