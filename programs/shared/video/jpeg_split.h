/* Finds the end of a JPEG in bytes that arrive in parts: follows the markers and skips the data
 * between them. Touches only its arguments. Included by frames.h. */
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
  MAFAT_JPEG_IN_SCAN_CODE /* after a byte FF of a scan */
};

/* State of the parser; all zeros: at the beginning of a stream. */
struct mafat_jpeg_split {
  enum mafat_jpeg_split_at at;
  size_t left;  /* remaining bytes of the segment */
  bool scans;   /* a scan follows this segment */
  bool ended;   /* the picture is complete; the next byte belongs to another one */
  bool damaged; /* the byte `found` is invalid here */
  unsigned char found;
};

/* Parses up to n bytes, to the end of the picture or to an invalid byte. Returns the number of
 * bytes that belong to the picture. */
size_t mafat_jpeg_split(struct mafat_jpeg_split *s, const unsigned char *bytes, size_t n);

#endif
