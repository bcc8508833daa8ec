/* libFuzzer target: reads frames from a pipe. The first byte of the input chooses the format:
 * y4m, JPEG pictures or raw frames. A frame must not be longer than its buffer, a JPEG must end
 * with FF D9, and a refused frame must have a one-line message. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/shared/video/frames.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/networks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { MOST_ROOM = 1 << 20, MOST_FRAMES = 200 };

static void read_frames(struct mafat_frames *f)
{
  struct mafat_diagnostic d = {""};
  /* no spare bytes: sanitizers see writes past the end */
  unsigned char *frame = malloc(f->frame_bytes);
  size_t got = 1;
  int code = MAFAT_OK;
  require(frame);
  for (int i = 0; i < MOST_FRAMES && code == MAFAT_OK && got > 0; i++) {
    bounded_begin();
    code = mafat_frames_next(f, frame, &got, NULL, &d);
    bounded_end(TEST_READER_VIDEO, 0);
    require(code == MAFAT_OK || (d.text[0] && !strchr(d.text, '\n') && got == 0));
    require(got <= f->frame_bytes &&
            (got == 0 || f->kind == MAFAT_FRAMES_JPEG || got == f->frame_bytes));
    if (got && f->kind == MAFAT_FRAMES_JPEG)
      require(got >= 4 && frame[0] == 0xff && frame[1] == 0xd8 && frame[got - 2] == 0xff &&
              frame[got - 1] == 0xd9);
  }
  free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  static struct mafat_frames f;
  static const char *const kinds[] = {"y4m", "64x48:mjpeg", "5x3:nv12"};
  struct mafat_diagnostic d = {""};
  if (n < 1) return 0;
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, bytes + 1, n - 1) == (ssize_t)(n - 1) &&
          lseek(fd, 0, SEEK_SET) == 0);
  bounded_begin();
  int code = mafat_frames_open(&f, fd, kinds[bytes[0] % 3], &d);
  bounded_end(TEST_READER_VIDEO, 0);
  require(code == MAFAT_OK || (d.text[0] && !strchr(d.text, '\n')));
  if (code == MAFAT_OK && f.frame_bytes <= MOST_ROOM) read_frames(&f);
  close(fd);
  return 0;
}
