/* Frames with boxes on them, as y4m: what players and ffmpeg take from a pipe without being told anything. Boxes are drawn
 * where the frame lies, for nobody needs it any more; what is no plane yet is written plane by plane. */
#ifndef MAFAT_PROGRAM_VIDEO_OVERLAY_H
#define MAFAT_PROGRAM_VIDEO_OVERLAY_H

#include "include/mafat.h"
#include "runner/program/video/frames.h"

enum mafat_overlay_kind { MAFAT_OVERLAY_YUV420P, MAFAT_OVERLAY_NV12, MAFAT_OVERLAY_YUYV, MAFAT_OVERLAY_RGB24 };

struct mafat_overlay {
  int fd;           /* the caller's */
  const char *path; /* for messages */
  enum mafat_overlay_kind kind;
  int width, height;
  bool full;        /* range */
  unsigned char piece[4096]; /* of a plane, where planes have to be made */
};

/* Writes what such a stream begins with. frames: as a model's options have them. MAFAT_EINVAL: JPEGs, of which there is no frame to draw on;
 * MAFAT_EIO. */
int mafat_overlay_open(struct mafat_overlay *o, int fd, const char *path, const char *frames, struct mafat_frame_rate rate, struct mafat_diagnostic *d);

/* Draws what was detected, each class in a colour of its own, and writes the frame. */
int mafat_overlay_write(struct mafat_overlay *o, unsigned char *frame, const struct mafat_detections *detections, struct mafat_diagnostic *d);

#endif
