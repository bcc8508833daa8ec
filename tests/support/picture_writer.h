/* Writes small test pictures of every format that runner/image/image.h reads, with libjpeg and
 * libpng. Pixels change smoothly with the position, with some noise, and differently in each
 * channel, so that a wrong orientation or channel order shows. Aborts if a file cannot be
 * written. Included by suites that need pictures and by the oracle. */
#ifndef MAFAT_TESTS_SUPPORT_PICTURE_WRITER_H
#define MAFAT_TESTS_SUPPORT_PICTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jpeg_colours { JPEG_GREY, JPEG_YCC, JPEG_RGB, JPEG_CMYK, JPEG_YCCK };

struct jpeg_style {
  enum jpeg_colours colours;
  int h, v;          /* luma samples for each chroma sample, across and down; 0 means 1 */
  bool progressive;
  bool arithmetic;
  int restart_rows;  /* rows of MCUs between restart markers; 0: no markers */
  int orientation;   /* EXIF orientation, 1 to 8; 0: no EXIF */
  bool big_endian;   /* byte order of the EXIF */
  bool xmp_first;    /* an APP1 with XMP before the EXIF */
};

struct png_style {
  int colour;        /* PNG_COLOR_TYPE_* */
  int depth;         /* bits of a sample */
  bool interlaced;
  int orientation;   /* orientation in eXIf, 1 to 8; 0: no eXIf */
  bool exif_after;  /* the eXIf chunk follows the pixels */
  bool transparency; /* a tRNS chunk */
  bool gamma;        /* a gAMA chunk of 1/2.2 */
};

/* Returns channel k of the pixel at (x, y) as 16 bits. The upper 8 bits are the 8-bit sample. */
unsigned picture_sample(int x, int y, int k);

/* Not declared in builds without libraries, which also leave out the tests that call them. */
#ifndef MAFAT_TESTS_WITHOUT_LIBRARIES
void picture_write_jpeg(const char *path, int width, int height, const struct jpeg_style *style);
void picture_write_png(const char *path, int width, int height, const struct png_style *style);

/* `kind` is the second character of the format's name: P2, P3, P5 or P6. */
void picture_write_ppm(const char *path, int width, int height, char kind, int maxval);

struct bmp_style {
  int bits;      /* 4 and 8: an index of greys; 16, 24, 32: colours */
  bool top_down;
  bool core;     /* OS/2's header of 12 bytes */
  bool masks; /* with masks. 16 bits: 5, 6 and 5 for the colours; 32 bits: red in the lowest byte */
};
void picture_write_bmp(const char *path, int width, int height, const struct bmp_style *style);

void picture_write_bytes(const char *path, const void *bytes, size_t n);

/* Reads a whole file; the caller frees it. */
uint8_t *picture_read_bytes(const char *path, size_t *n);
#endif

#endif
