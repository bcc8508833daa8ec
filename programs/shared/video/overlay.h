/* Writes frames with boxes as y4m, which players and ffmpeg read from a pipe without options.
 * Boxes are drawn into the caller's frame; formats whose colours are not in separate planes are
 * converted while writing. A JPEG is decoded again, row by row: luma is written at once, and chroma
 * is stored after the JPEG in the frame's buffer until luma is complete. Writes to an open file;
 * allocates nothing. Included by programs/run_inference/video.c. */
#ifndef MAFAT_PROGRAM_VIDEO_OVERLAY_H
#define MAFAT_PROGRAM_VIDEO_OVERLAY_H

#include "include/mafat.h"
#include "programs/shared/video/frames.h"

enum mafat_overlay_kind {
  MAFAT_OVERLAY_YUV420P, MAFAT_OVERLAY_NV12, MAFAT_OVERLAY_YUYV, MAFAT_OVERLAY_RGB24,
  MAFAT_OVERLAY_JPEG
};

struct mafat_overlay {
  int fd;           /* descriptor to write to, owned by the caller */
  const char *path; /* name for messages */
  enum mafat_overlay_kind kind;
  int width, height;
  bool full;        /* full range: luma is 0 to 255, not 16 to 235 */
  size_t n_piece;
  unsigned char piece[4096]; /* (n_piece) bytes of a converted plane, not written yet */
};

struct mafat_overlay_frame {
  unsigned char *bytes; /* (n) the frame, in a buffer of `capacity` bytes; is drawn on */
  size_t n, capacity;
};

/* Writes the header of the stream. frames: a valid format, as in mafat_model_options.frames.
 * Returns MAFAT_OK or MAFAT_EIO. */
int mafat_overlay_open(struct mafat_overlay *o, int fd, const char *path, const char *frames,
                       struct mafat_frame_rate rate, struct mafat_diagnostic *d);

/* Draws the detections on the frame that the model has run on, with one colour for each class, and
 * writes it. Returns MAFAT_OK, MAFAT_EIO or MAFAT_EUNSUPPORTED (a JPEG so long that its buffer has
 * no space for chroma). */
int mafat_overlay_write(struct mafat_overlay *o, struct mafat_model *model,
                        const struct mafat_overlay_frame *frame,
                        const struct mafat_detections *detections, struct mafat_diagnostic *d);

#endif
