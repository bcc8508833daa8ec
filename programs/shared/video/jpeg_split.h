/* Finds the end of a JPEG in bytes that arrive in parts: follows the markers and skips the data
 * between them. Pure. Included by frames.h. */
#ifndef MAFAT_PROGRAM_VIDEO_JPEG_SPLIT_H
#define MAFAT_PROGRAM_VIDEO_JPEG_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

enum mafat_jpeg_split_at {
  MAFAT_JPEG_AT_START,
  MAFAT_JPEG_AT_SOI,
  MAFAT_JPEG_AT_MARKER,
  MAFAT_JPEG_AT_CODE,
  MAFAT_JPEG_AT_LENGTH,
  MAFAT_JPEG_AT_LENGTH_LOW,
  MAFAT_JPEG_IN_SEGMENT,
  MAFAT_JPEG_IN_SCAN,
  MAFAT_JPEG_IN_SCAN_CODE /* behind an FF of a scan */
};

/* All zeros: at the beginning of a stream. */
struct mafat_jpeg_split {
  enum mafat_jpeg_split_at at;
  size_t left;  /* of a segment */
  bool scans;   /* behind this segment comes a scan */
  bool ended;   /* the picture that was begun; the next byte is another's */
  bool damaged; /* a byte is none that may stand there: */
  unsigned char found;
};

/* Takes bytes of the picture, n at most, up to its end or to what is damaged; returns how many. */
size_t mafat_jpeg_split(struct mafat_jpeg_split *s, const unsigned char *bytes, size_t n);

#endif
