/* Reads frames from a Video4Linux camera, in buffers that the driver fills and this process maps.
 * All settings are made and checked at opening. Afterwards only three kinds of calls are needed,
 * which the sandbox allows (programs/shared/sandbox/filter.c): start, get a frame, return its
 * buffer. Opens the device and maps memory. Included by programs/run_inference/video.c. */
#ifndef MAFAT_PROGRAM_VIDEO_CAMERA_H
#define MAFAT_PROGRAM_VIDEO_CAMERA_H

#include "include/mafat.h"
#include "programs/shared/video/frames.h"

enum { MAFAT_CAMERA_BUFFERS = 4 };

struct mafat_camera {
  int fd;               /* -1: none is open */
  const char *path;
  char text[64];        /* format, as in mafat_model_options.frames: "640x480:yuyv" */
  size_t frame_bytes;   /* bytes of a frame; the most bytes if they are JPEGs */
  bool varies;
  struct mafat_frame_rate rate;
  int n_buffers;
  struct {
    unsigned char *at;
    size_t bytes;
  } buffers[MAFAT_CAMERA_BUFFERS];
  size_t mapped_bytes;  /* of all buffers */
  int held;             /* buffer of the frame that the caller uses; -1: none */
  bool counted;         /* `next` is known */
  unsigned next; /* number that the driver will give the next frame; a larger one means that frames
                    were lost */
};

/* Opens the camera at `path`. request: format of the frames, such as "640x480:nv12"; NULL: the
 * camera's current format, or else the first size that it offers. map: also maps its buffers;
 * false: only determines their sizes. Returns MAFAT_OK, MAFAT_EIO (it cannot be opened or set) or
 * MAFAT_EUNSUPPORTED (it is no camera, or has no such frames). */
int mafat_camera_open(struct mafat_camera *c, const char *path, const char *request, bool map,
                      struct mafat_diagnostic *d);
int mafat_camera_start(struct mafat_camera *c, struct mafat_diagnostic *d);

/* Waits for the next frame, *n bytes, valid until the next call. newest: skips frames to get the
 * latest. *lost: number of frames that were skipped or lost since the last call. *n is 0 if *stop
 * became nonzero. Returns MAFAT_OK, or MAFAT_EIO if the camera is gone or sends no whole frame for
 * ten seconds. */
int mafat_camera_next(struct mafat_camera *c, unsigned char **frame, size_t *n, bool newest,
                      long long *lost, const volatile int *stop, struct mafat_diagnostic *d);
void mafat_camera_close(struct mafat_camera *c);

#endif
