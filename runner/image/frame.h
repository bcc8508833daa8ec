/* Video frames in the formats of cameras and pipes. They are decoded to rows of RGB like pictures
 * (runner/image/image.h). YUV is BT.601: Y from 16 to 235, U and V from 16 to 240, or 0 to 255 for
 * full range. Chroma is upsampled by nearest neighbor, as in ffmpeg. Included by api/frames.c and
 * image.h. */
#ifndef MAFAT_RUNNER_IMAGE_FRAME_H
#define MAFAT_RUNNER_IMAGE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum mafat_frame_kind {
  MAFAT_FRAME_YUV420P, /* planes of Y, U and V; U and V subsampled 2x2 */
  MAFAT_FRAME_NV12,    /* like YUV420P, with U and V interleaved */
  MAFAT_FRAME_YUYV,    /* Y U Y V for two pixels */
  MAFAT_FRAME_RGB24,
  MAFAT_FRAME_MJPEG    /* a JPEG file */
};

struct mafat_frame_format {
  enum mafat_frame_kind kind;
  bool full; /* range of Y, U and V is 0 to 255 */
  int width, height;
  const char *name; /* "yuv420p" */
};

/* Parses "640x480" (yuv420p) or "640x480:nv12". MAFAT_EINVAL. */
int mafat_frame_format_read(struct mafat_frame_format *f, const char *text,
                            struct mafat_diagnostic *d);
/* Returns the bytes of a frame; for a JPEG, the most that camera drivers reserve. */
size_t mafat_frame_format_bytes(const struct mafat_frame_format *f);

struct mafat_frame {
  struct mafat_frame_format format;
  const unsigned char *bytes; /* (n) owned by the caller */
  size_t n;
};

#endif
