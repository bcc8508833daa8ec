/* Video frames in the formats of cameras and pipes: parses the name of a format. Frames are decoded
 * to rows of RGB like pictures (mafat_image_open_frame in image.h). YUV is BT.601: Y from 16 to
 * 235, U and V from 16 to 240, or 0 to 255 for full range. Chroma is upsampled by nearest neighbor,
 * as in ffmpeg. Touches only its arguments. Included by api/frames.c and by image.h, through which
 * other files of api use it. */
#ifndef MAFAT_RUNNER_IMAGE_FRAME_H
#define MAFAT_RUNNER_IMAGE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum mafat_frame_kind {
  MAFAT_FRAME_YUV420P, /* planes of Y, U and V; U and V subsampled 2x2 */
  MAFAT_FRAME_NV12,    /* plane of Y, then a plane of interleaved U and V, subsampled 2x2 */
  MAFAT_FRAME_YUYV,    /* bytes Y U Y V for two pixels */
  MAFAT_FRAME_RGB24,   /* bytes R G B for each pixel */
  MAFAT_FRAME_MJPEG    /* a JPEG file */
};

struct mafat_frame_format {
  enum mafat_frame_kind kind;
  bool full; /* full range: Y, U and V are 0 to 255 */
  int width, height;
  const char *name; /* name of kind and range, such as "yuv420p" */
};

/* Parses a text such as "640x480:nv12", or "640x480", which means yuv420p. MAFAT_EINVAL: it is not
 * valid. */
int mafat_frame_format_read(struct mafat_frame_format *f, const char *text,
                            struct mafat_diagnostic *d);
/* Returns the number of bytes of a frame; for MJPEG, the most that camera drivers reserve. */
size_t mafat_frame_format_bytes(const struct mafat_frame_format *f);

struct mafat_frame {
  struct mafat_frame_format format;
  const unsigned char *bytes; /* (n) owned by the caller */
  size_t n;
};

#endif
