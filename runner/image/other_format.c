/* Recognizes picture formats that no decoder here reads, for an error message. Called by image.c if
 * a file has no format that it can read. Touches only its arguments. */
#include "runner/image/other_format.h"

#include <string.h>

/* Formats: a file of the format `name` has these `length` bytes at this offset. */
static const struct {
  char name[12];
  uint8_t offset, length;
  char bytes[9];
} formats[] = {
    {"WebP", 8, 4, "WEBP"},           {"GIF", 0, 4, "GIF8"},
    {"TIFF", 0, 4, "II*"},            {"TIFF", 0, 4, "MM\0*"},       {"AVIF", 4, 8, "ftypavif"},
    {"HEIC", 4, 8, "ftypheic"},       {"HEIC", 4, 8, "ftypheix"},    {"HEIF", 4, 8, "ftypmif1"},
    {"JPEG XL", 0, 2, "\xff\x0a"},    {"JPEG XL", 4, 4, "JXL "},     {"JPEG 2000", 4, 4, "jP  "},
    {"Photoshop", 0, 4, "8BPS"},      {"QOI", 0, 4, "qoif"},         {"PDF", 0, 4, "%PDF"},
    {"netpbm P1", 0, 2, "P1"},        {"netpbm P4", 0, 2, "P4"},     {"netpbm P7", 0, 2, "P7"},
};

int mafat_image_refuse_format(const char *name, const uint8_t *bytes, size_t n,
                              struct mafat_diagnostic *d)
{
  static const char expected[] = "expected a JPEG, PNG, BMP, PPM or PGM picture, found";
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    const size_t end = (size_t)formats[i].offset + formats[i].length;
    if (n < end || memcmp(bytes + formats[i].offset, formats[i].bytes, formats[i].length) != 0)
      continue;
    return mafat_fail(
        d, strncmp(formats[i].name, "netpbm", 6) == 0 ? MAFAT_EUNSUPPORTED : MAFAT_EFORMAT,
        "%s: %s %s; ImageMagick converts it: convert FILE picture.png", name, expected,
        formats[i].name);
  }
  if (n > 0 && bytes[0] == '<')
    return mafat_fail(d, MAFAT_EFORMAT, "%s: %s HTML or XML: is it an error page of a download?",
                      name, expected);
  return mafat_fail(d, MAFAT_EFORMAT, "%s: %s none of them", name, expected);
}
