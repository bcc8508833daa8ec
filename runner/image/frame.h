/* Frames of video: what lies in one as cameras and pipes give it. Its pixels become rows of red, green and blue, one when
 * it is asked for, as a picture's do (image.h). Y, U and V are those of BT.601, of 16 to 235 and 240 or, where the range
 * is full, of 0 to 255; chroma is the nearest, as ffmpeg has it. */
#ifndef MAFAT_RUNNER_IMAGE_FRAME_H
#define MAFAT_RUNNER_IMAGE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum mafat_frame_kind {
  MAFAT_FRAME_YUV420P, /* a plane of Y, one of U and one of V for every two columns and rows */
  MAFAT_FRAME_NV12,    /* the same, U and V of a place side by side */
  MAFAT_FRAME_YUYV,    /* Y U Y V: two pixels */
  MAFAT_FRAME_RGB24,
  MAFAT_FRAME_MJPEG    /* a JPEG file */
};

struct mafat_frame_format {
  enum mafat_frame_kind kind;
  bool full; /* range of Y, U and V */
  int width, height;
  const char *name; /* "yuv420p" */
};

/* "640x480", which are yuv420p, or "640x480:nv12". MAFAT_EINVAL. */
int mafat_frame_format_read(struct mafat_frame_format *f, const char *text, struct mafat_diagnostic *d);
/* Of a frame; of a JPEG at most, as drivers of cameras have it. */
size_t mafat_frame_format_bytes(const struct mafat_frame_format *f);

struct mafat_frame {
  struct mafat_frame_format format;
  const unsigned char *bytes; /* (n) the caller's, where they are */
  size_t n;
};

#endif
