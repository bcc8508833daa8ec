/* Makes a temporary folder for one picture and reads the picture as a network's input. Called by
 * the suites in tests/unit/image. Sets the static variables of picture_reader.h. */
#include "tests/support/picture_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char picture_folder[64], picture_path[128];
struct mafat_diagnostic picture_diagnostic;

static void make_folder(void)
{
  strcpy(picture_folder, "/tmp/mafat-image-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(picture_folder));
  snprintf(picture_path, sizeof picture_path, "%s/picture", picture_folder);
}

static void remove_folder(void)
{
  unlink(picture_path);
  ck_assert_int_eq(rmdir(picture_folder), 0);
}

TCase *picture_case(Suite *suite, const char *name, double seconds)
{
  TCase *c = tcase_create(name);
  tcase_add_checked_fixture(c, make_folder, remove_folder);
  tcase_set_timeout(c, seconds);
  suite_add_tcase(suite, c);
  return c;
}

int picture_read(const struct mafat_image_input *input, float *pixels)
{
  struct mafat_image *im = NULL;
  size_t stride = (size_t)(input->w * input->c);
  picture_diagnostic.text[0] = 0;
  int code = mafat_image_open(&im, picture_path, input, &picture_diagnostic);
  ck_assert_int_eq(code == MAFAT_OK, im != NULL);
  if (code == MAFAT_OK)
    code = mafat_image_read(im, &(struct mafat_image_target){pixels, stride}, &picture_diagnostic);
  mafat_image_close(&im);
  ck_assert_ptr_null(im);
  return code;
}

float *picture_must_read(int w, int h, int c, enum mafat_fit fit)
{
  size_t n = (size_t)w * (size_t)h * (size_t)c;
  float *pixels = malloc(n * sizeof *pixels);
  ck_assert_ptr_nonnull(pixels);
  for (size_t i = 0; i < n; i++) pixels[i] = NAN;
  int code = picture_read(&(struct mafat_image_input){w, h, c, .fit = fit}, pixels);
  ck_assert_msg(code == MAFAT_OK, "%s", picture_diagnostic.text);
  for (size_t i = 0; i < n; i++) ck_assert(pixels[i] >= 0 && pixels[i] <= 1);
  return pixels;
}

void picture_must_fail(int code)
{
  static float pixels[32 * 32 * 3];
  int found =
      picture_read(&(struct mafat_image_input){32, 32, 3, .fit = MAFAT_FIT_LETTERBOX}, pixels);
  ck_assert_msg(found == code, "%s instead of %s: %s", mafat_error_name(found),
                mafat_error_name(code), picture_diagnostic.text);
  ck_assert_msg(strncmp(picture_diagnostic.text, picture_path, strlen(picture_path)) == 0, "%s",
                picture_diagnostic.text);
}
