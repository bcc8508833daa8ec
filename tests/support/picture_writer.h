/* Writes small test pictures of every kind that runner/image/image.h reads, with
 * libjpeg and libpng themselves. The content is a function of the position:
 * smooth, with some noise and different in every channel, so that a wrong turn
 * or a swapped channel shows. Aborts when a file cannot be written. */
#ifndef MAFAT_TESTS_SUPPORT_PICTURE_WRITER_H
#define MAFAT_TESTS_SUPPORT_PICTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jpeg_colours { JPEG_GREY, JPEG_YCC, JPEG_RGB, JPEG_CMYK, JPEG_YCCK };

struct jpeg_style {
  enum jpeg_colours colours;
  int h, v;          /* chroma's sampling: luma has h x v samples for one; 0 is 1 */
  bool progressive;
  bool arithmetic;
  int restart_rows;  /* MCU rows between restart markers, 0 for none */
  int orientation;   /* 0: no EXIF */
  bool big_endian;   /* of the EXIF */
  bool xmp_first;    /* an APP1 of XMP before the one of EXIF */
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

/* 16 bits of channel k at (x, y); the upper 8 are the sample of 8 bits. */
unsigned picture_sample(int x, int y, int k);

/* Builds without libraries have none of these: who calls them is left out there. */
#ifndef MAFAT_TESTS_WITHOUT_LIBRARIES
void picture_write_jpeg(const char *path, int width, int height, const struct jpeg_style *style);
void picture_write_png(const char *path, int width, int height, const struct png_style *style);

/* kind is '2', '3', '5' or '6', of P2, P3, P5, P6. */
void picture_write_ppm(const char *path, int width, int height, char kind, int maxval);

void picture_write_bytes(const char *path, const void *bytes, size_t n);

/* The whole file, to be freed. */
uint8_t *picture_read_bytes(const char *path, size_t *n);
#endif

#endif
