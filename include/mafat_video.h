/* Runs on video frames. mafat_model_options.frames sets their format; the arena then has a buffer
 * for one frame, so that no other memory is needed. Sizes, errors and ownership are described in
 * mafat.h. */
#ifndef MAFAT_VIDEO_H
#define MAFAT_VIDEO_H

#include "mafat.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mafat_frame_facts {
  size_t size;
  int width, height;
  const char *format;   /* "yuv420p" */
  size_t bytes;         /* of a frame; if `varies`, the most that a frame may have */
  bool varies;          /* mjpeg: lengths differ from frame to frame */
};

/* Describes a format, "640x480:yuv420p". MAFAT_EINVAL: not a format. */
MAFAT_API int mafat_frame_describe(const char *frames, struct mafat_frame_facts *facts,
                                   struct mafat_diagnostic *d);

/* Returns the arena's buffer for the next frame. Writing to it overwrites the last run's outputs.
 * Call this again after another model used a shared arena. NULL: the model was opened without
 * frames in its options, or with frames_outside. */
MAFAT_API unsigned char *mafat_model_frame_room(struct mafat_model *model);

/* Runs on a frame of n bytes in the options' format, in the arena's buffer or elsewhere. Planes and
 * rows are contiguous. Colors are BT.601's: Y is 16 to 235, U and V are 16 to 240 (yuvj420p and
 * mjpeg: all 0 to 255). Pixels use the nearest U and V. The result equals that of a PPM file of the
 * converted pixels. MAFAT_EINVAL: no frames in the options, or a wrong length. mjpeg: also fails as
 * mafat_model_run_picture does. */
MAFAT_API int mafat_model_run_frame(struct mafat_model *model, const unsigned char *frame, size_t n,
                                    struct mafat_diagnostic *d);
/* Like mafat_model_run_frame, for a frame of any format in the caller's memory, whatever the
 * options say. The budget does not count it, and mafat_model_frame_rows cannot read it. */
MAFAT_API int mafat_model_run_frame_of(struct mafat_model *model, const char *frames,
                                       const unsigned char *frame, size_t n,
                                       struct mafat_diagnostic *d);

/* Calls `row` for each row of a frame, from the top, for drawing boxes: row y as red, green and
 * blue, width * 3 bytes, writable. A code other than MAFAT_OK ends the calls and is returned. An
 * mjpeg frame is decoded again, at its full size. The prediction includes all memory for that only
 * if the model was opened with frames_stay. Outputs and detections do not change. Also fails as
 * mafat_model_run_frame does. */
MAFAT_API int mafat_model_frame_rows(struct mafat_model *model, const unsigned char *frame,
                                     size_t n,
                                     int (*row)(void *context, unsigned char *rgb, int y,
                                                struct mafat_diagnostic *d),
                                     void *context, struct mafat_diagnostic *d);

#ifdef __cplusplus
}
#endif

#endif
