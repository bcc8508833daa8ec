/* libFuzzer target: opens any bytes as a picture for five network inputs: colour, grey, colour
 * with shrinking allowed, cropped, and one whose size, channels and fit come from the last two
 * bytes. Aborts on an impossible placement, a pixel out of range, or an error without a message.
 * Build with clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/image/decoder.h"
#include "runner/image/image.h"

/* Pictures whose decoder needs more memory are not decoded, just as a program with this memory
 * budget would refuse them. */
static const size_t BUDGET_BYTES = (size_t)64 << 20;

/* Larger pictures only take longer. */
static const long long MAX_PIXELS = 16 << 20;

/* Aborts if the placed picture does not cover the whole input (cropped) or is not inside the
 * input (otherwise), or if its corners do not map to the picture's corners. */
static void check_placement(const struct mafat_placement *p)
{
  bool crops = p->fit == MAFAT_FIT_CROP;
  for (int axis = 0; axis < 2; axis++) {
    int at = axis ? p->top : p->left, size = axis ? p->h : p->w, in = axis ? p->in_h : p->in_w;
    double picture = axis ? p->picture_h : p->picture_w;
    if (crops ? at > 0 || size < in || at + size < in
              : at < 0 || size < 0 || size > in || at > in - size)
      abort();
    double begin = axis ? mafat_placement_picture_y(p, at) : mafat_placement_picture_x(p, at);
    double end =
        axis ? mafat_placement_picture_y(p, at + size) : mafat_placement_picture_x(p, at + size);
    if (!(begin >= 0 && begin <= 0) || !(end >= 0 && end <= picture * (1 + 1e-9))) abort();
  }
}

static void read_as(int fd, const struct mafat_image_input *input)
{
  struct mafat_diagnostic d = {""};
  struct mafat_image *im = NULL;
  int code = mafat_image_open_fd(&im, dup(fd), "fuzz", input, &d);
  if (code == MAFAT_OK) check_placement(mafat_image_placement(im));
  if (code == MAFAT_OK && mafat_image_bytes(im) <= BUDGET_BYTES &&
      (long long)mafat_image_describe(im)->width * mafat_image_describe(im)->height <= MAX_PIXELS) {
    size_t stride = (size_t)(input->w * input->c), n = stride * (size_t)input->h;
    float *pixels = malloc(n * sizeof *pixels);
    if (!pixels) abort();
    for (size_t i = 0; i < n; i++) pixels[i] = -1;
    code = mafat_image_read(im, &(struct mafat_image_target){pixels, stride}, &d);
    for (size_t i = 0; code == MAFAT_OK && i < n; i++)
      if (!(pixels[i] >= 0 && pixels[i] <= 1 + 1e-6f)) abort();
    free(pixels);
  }
  if (code != MAFAT_OK && !d.text[0]) abort();
  mafat_image_close(&im);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  static const struct mafat_image_input colour = {64, 48, 3, .fit = MAFAT_FIT_LETTERBOX};
  static const struct mafat_image_input shrunk = {24, 16, 3, .fit = MAFAT_FIT_LETTERBOX,
                                                  .shrinks = true};
  static const struct mafat_pixel_rule swapped = {
      /* maps 0..255 to 0..1, up to rounding */
      .swapped = true, .scale = {1 / 255.f, 1 / 255.f, 1 / 255.f}};
  static const struct mafat_image_input cropped = {7, 40, 3, .fit = MAFAT_FIT_CROP,
                                                   .rule = &swapped};
  static const struct mafat_image_input grey = {32, 32, 1, .fit = MAFAT_FIT_STRETCH};
  const uint8_t last = n > 0 ? bytes[n - 1] : 0, before = n > 1 ? bytes[n - 2] : 0;
  const struct mafat_image_input any = {1 + last % 96, 1 + before % 96, before > 191 ? 1 : 3,
                                        .fit = (enum mafat_fit)(last / 64), .rule = &swapped};
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) abort();
  read_as(fd, &colour);
  read_as(fd, &grey);
  read_as(fd, &shrunk);
  read_as(fd, &cropped);
  read_as(fd, &any);
  close(fd);
  return 0;
}
