/* Writes small test pictures of every format that runner/image/image.h reads, with libjpeg and
 * libpng. A pixel's value depends on its position: smooth with some noise, different in every
 * channel, so that a wrong orientation or channel order shows. Aborts if a file cannot be
 * written. Included by suites that need pictures. */
#ifndef MAFAT_TESTS_SUPPORT_PICTURE_WRITER_H
#define MAFAT_TESTS_SUPPORT_PICTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jpeg_colours { JPEG_GREY, JPEG_YCC, JPEG_RGB, JPEG_CMYK, JPEG_YCCK };

struct jpeg_style {
  enum jpeg_colours colours;
  int h, v;          /* luma samples per chroma sample, horizontally and vertically; 0 is 1 */
  bool progressive;
  bool arithmetic;
  int restart_rows;  /* MCU rows between restart markers, 0 for none */
  int orientation;   /* 0: no EXIF */
  bool big_endian;   /* byte order of the EXIF */
  bool xmp_first;    /* an APP1 with XMP before the EXIF */
};

struct png_style {
  int colour;        /* PNG_COLOR_TYPE_* */
  int depth;         /* bits of a sample */
  bool interlaced;
  int orientation;   /* 0: no eXIf */
  bool exif_after;  /* eXIf after the pixels */
  bool transparency; /* a tRNS chunk */
  bool gamma;        /* a gAMA chunk of 1/2.2 */
};

/* Channel k at (x, y) with 16 bits; the upper 8 are the 8-bit sample. */
unsigned picture_sample(int x, int y, int k);

/* Missing in builds without libraries; their callers are left out there, too. */
#ifndef MAFAT_TESTS_WITHOUT_LIBRARIES
void picture_write_jpeg(const char *path, int width, int height, const struct jpeg_style *style);
void picture_write_png(const char *path, int width, int height, const struct png_style *style);

/* kind '2', '3', '5' or '6': P2, P3, P5 or P6. */
void picture_write_ppm(const char *path, int width, int height, char kind, int maxval);

struct bmp_style {
  int bits;      /* 4 and 8: an index into greys; 16, 24, 32: colours */
  bool top_down;
  bool core;     /* OS/2's header of 12 bytes */
  bool masks;    /* of 16 bits: 5, 6 and 5 bits a colour; of 32: red first */
};
void picture_write_bmp(const char *path, int width, int height, const struct bmp_style *style);

void picture_write_bytes(const char *path, const void *bytes, size_t n);

/* Reads a whole file; the caller frees it. */
uint8_t *picture_read_bytes(const char *path, size_t *n);
#endif

#endif
