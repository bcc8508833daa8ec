/* Video4Linux camera: frames in memory that the driver fills and this process maps. Everything that
 * may fail for its device is checked at opening. Three calls remain, which the sandbox allows
 * (programs/shared/sandbox/filter.c): to start, to take a frame, to return it. Opening maps memory.
 * Included by programs/run_inference/video.c. */
#ifndef MAFAT_PROGRAM_VIDEO_CAMERA_H
#define MAFAT_PROGRAM_VIDEO_CAMERA_H

#include "include/mafat.h"
#include "programs/shared/video/frames.h"

enum { MAFAT_CAMERA_BUFFERS = 4 };

struct mafat_camera {
  int fd;               /* -1: none is open */
  const char *path;
  char text[64];        /* its frames, as options of a model have them: "640x480:yuyv" */
  size_t frame_bytes;   /* of one; of a JPEG at most */
  bool varies;
  struct mafat_frame_rate rate;
  int n_buffers;
  struct {
    unsigned char *at;
    size_t bytes;
  } buffers[MAFAT_CAMERA_BUFFERS];
  size_t mapped_bytes;  /* of all buffers */
  int held;             /* the buffer whose frame is being looked at; -1 */
  bool counted;         /* `next` is known: */
  unsigned next; /* number of the frame behind the last one, as the driver counts; a larger one was
                    preceded by lost ones */
};

/* Opens it for frames as `request` has them ("640x480:nv12"); NULL: as it stands, or else the first
 * size that it offers. `map`: its buffers, too; else it is only asked what they would be.
 * MAFAT_EIO: it cannot be opened, or refuses; MAFAT_EUNSUPPORTED: no camera, or none of these
 * frames. */
int mafat_camera_open(struct mafat_camera *c, const char *path, const char *request, bool map,
                      struct mafat_diagnostic *d);
int mafat_camera_start(struct mafat_camera *c, struct mafat_diagnostic *d);

/* The next frame, n bytes, valid until the next call; where `newest`, those before it that have
 * come go back to the driver. *lost: how many came and were not seen. *n is 0 where *stop says so.
 * MAFAT_EIO: the camera is gone, or sends nothing that is whole for ten seconds. */
int mafat_camera_next(struct mafat_camera *c, unsigned char **frame, size_t *n, bool newest,
                      long long *lost, const volatile int *stop, struct mafat_diagnostic *d);
void mafat_camera_close(struct mafat_camera *c);

#endif
