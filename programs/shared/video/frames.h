/* Video frames from a pipe or a file, one after the other: raw, with y4m headers, or JPEGs. Foreign
 * bytes are checked before use, and never more are read than fit. Allocates nothing. Included by
 * programs/run_inference/video.c, camera.h and overlay.h. */
#ifndef MAFAT_PROGRAM_VIDEO_FRAMES_H
#define MAFAT_PROGRAM_VIDEO_FRAMES_H

#include "include/mafat.h"
#include "programs/shared/video/jpeg_split.h"

enum mafat_frames_kind { MAFAT_FRAMES_RAW, MAFAT_FRAMES_Y4M, MAFAT_FRAMES_JPEG };

/* Frames in a second; 0: nobody says. */
struct mafat_frame_rate {
  int frames, seconds;
};

struct mafat_frames {
  int fd;                 /* the caller's */
  enum mafat_frames_kind kind;
  char text[64];          /* as options of a model have it: "640x480:yuv420p" */
  size_t frame_bytes;     /* of one; of a JPEG at most */
  struct mafat_frame_rate rate;
  long long n;            /* that were begun */
  bool is_file;           /* it has an end that is there already */
  struct mafat_jpeg_split split;
  size_t begin, end;      /* of JPEGs, in `ahead`: bytes of the next ones */
  unsigned char ahead[16384];
};

/* `video` is "y4m", whose header is read, or frames as a model's options have them. MAFAT_EINVAL,
 * MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: the text, or the header; MAFAT_EIO. */
int mafat_frames_open(struct mafat_frames *f, int fd, const char *video,
                      struct mafat_diagnostic *d);

/* The next frame into room (frame_bytes), *n bytes of it; *n is 0 behind the last one.
 * MAFAT_EFORMAT: it is damaged, or ends too soon; MAFAT_EIO. After a failure there are no more.
 * *stop: asked for by a signal, and looked at where it waits: as behind the last one. */
int mafat_frames_next(struct mafat_frames *f, unsigned char *capacity, size_t *n,
                      const volatile int *stop, struct mafat_diagnostic *d);

/* Has another frame begun to come? Waits for so many milliseconds at most. */
bool mafat_frames_waiting(const struct mafat_frames *f, int milliseconds);

/* Reads y4m's first line, `length` bytes without the newline. For mafat_frames_open and tests. */
int mafat_frames_read_header(struct mafat_frames *f, const char *line, size_t length,
                             struct mafat_diagnostic *d);

#endif
