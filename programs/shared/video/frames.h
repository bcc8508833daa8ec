/* Reads video frames from a pipe or a file, one after the other: raw, with y4m headers, or JPEGs.
 * Checks foreign bytes before it uses them. Allocates nothing. Included by
 * programs/run_inference/video.c, camera.h and overlay.h. */
#ifndef MAFAT_PROGRAM_VIDEO_FRAMES_H
#define MAFAT_PROGRAM_VIDEO_FRAMES_H

#include "include/mafat.h"
#include "programs/shared/video/jpeg_split.h"

enum mafat_frames_kind { MAFAT_FRAMES_RAW, MAFAT_FRAMES_Y4M, MAFAT_FRAMES_JPEG };

/* `frames` frames in `seconds` seconds; 0: unknown. */
struct mafat_frame_rate {
  int frames, seconds;
};

struct mafat_frames {
  int fd;                 /* descriptor to read from, owned by the caller */
  enum mafat_frames_kind kind;
  char text[64];          /* format, as in mafat_model_options.frames: "640x480:yuv420p" */
  size_t frame_bytes;     /* bytes of a frame; the most bytes if they are JPEGs */
  struct mafat_frame_rate rate;
  long long n;            /* number of frames begun */
  bool is_file;           /* a regular file, so that its end is known */
  struct mafat_jpeg_split split;
  size_t begin, end;      /* JPEGs: bytes of `ahead` that are read, but not returned yet */
  unsigned char ahead[16384];
};

/* Begins to read. video: "y4m", whose header is read, or a format as in mafat_model_options.frames.
 * Returns MAFAT_OK, MAFAT_EIO, or MAFAT_EINVAL, MAFAT_EFORMAT or MAFAT_EUNSUPPORTED if `video` or
 * the header is wrong. */
int mafat_frames_open(struct mafat_frames *f, int fd, const char *video,
                      struct mafat_diagnostic *d);

/* Reads the next frame into `capacity`, which has frame_bytes bytes. *n: bytes of the frame; 0:
 * past the last one, or *stop became nonzero while this waited. Returns MAFAT_OK, MAFAT_EIO or
 * MAFAT_EFORMAT (the frame is damaged or incomplete). After a failure there are no more frames. */
int mafat_frames_next(struct mafat_frames *f, unsigned char *capacity, size_t *n,
                      const volatile int *stop, struct mafat_diagnostic *d);

/* True if bytes of another frame can be read; waits for at most that many milliseconds. */
bool mafat_frames_waiting(const struct mafat_frames *f, int milliseconds);

/* Parses y4m's first line, `length` bytes without the newline. Called by mafat_frames_open and
 * tests. */
int mafat_frames_read_header(struct mafat_frames *f, const char *line, size_t length,
                             struct mafat_diagnostic *d);

#endif
