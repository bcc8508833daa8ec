/* Writes frames with boxes as y4m, which players and ffmpeg read from a pipe without options. Boxes
 * are drawn into the frame itself, which is not used afterwards; what is not planar yet is written
 * plane by plane. JPEGs are decoded again, row by row: luma is written at once, chroma is stored
 * behind the JPEG until then. Included by programs/run_inference/video.c. */
#ifndef MAFAT_PROGRAM_VIDEO_OVERLAY_H
#define MAFAT_PROGRAM_VIDEO_OVERLAY_H

#include "include/mafat.h"
#include "programs/shared/video/frames.h"

enum mafat_overlay_kind {
  MAFAT_OVERLAY_YUV420P, MAFAT_OVERLAY_NV12, MAFAT_OVERLAY_YUYV, MAFAT_OVERLAY_RGB24,
  MAFAT_OVERLAY_JPEG
};

struct mafat_overlay {
  int fd;           /* the caller's */
  const char *path; /* for messages */
  enum mafat_overlay_kind kind;
  int width, height;
  bool full;        /* range */
  size_t n_piece;
  unsigned char piece[4096]; /* (n_piece) of a plane, where planes have to be made */
};

struct mafat_overlay_frame {
  unsigned char *bytes; /* (n) to draw on, */
  size_t n, capacity;       /* where there is room for so many */
};

/* Writes what such a stream begins with. frames: as a model's options have them, which are checked.
 * MAFAT_EIO. */
int mafat_overlay_open(struct mafat_overlay *o, int fd, const char *path, const char *frames,
                       struct mafat_frame_rate rate, struct mafat_diagnostic *d);

/* Draws what was detected, each class in a colour of its own, and writes the frame, which the model
 * has run on. MAFAT_EIO; MAFAT_EUNSUPPORTED: a JPEG that is so long that there is no room for its
 * chroma. */
int mafat_overlay_write(struct mafat_overlay *o, struct mafat_model *model,
                        const struct mafat_overlay_frame *frame,
                        const struct mafat_detections *detections, struct mafat_diagnostic *d);

#endif
