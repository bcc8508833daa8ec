/* Synchronous reads with pread, for files in the page cache. For a small file, opening an io_uring
 * would take longer than reading. Called by runner/weights/reads.c through struct
 * mafat_read_queue_how (reads_method.h), which also uses it for sources in memory but then reads
 * nothing with it. Allocates nothing. */
#include "runner/weights/reads.h"
#include "runner/weights/reads_method.h"

#include <errno.h>
#include <unistd.h>

struct done {
  unsigned slot;
  ssize_t result;
};

struct blocking_ring {
  unsigned n;
  struct done done[MAFAT_READS_DEPTH]; /* results that `next` has not returned yet; n are used */
};

static int now_open(void *ring)
{
  (void)ring;
  return 0;
}

static void now_close(void *ring)
{
  (void)ring;
}

static int now_start(void *ring, unsigned slot, int fd, void *memory, size_t bytes, uint64_t offset)
{
  struct blocking_ring *r = ring;
  ssize_t got = pread(fd, memory, bytes, (off_t)offset);
  r->done[r->n++] = (struct done){slot, got < 0 ? -errno : got};
  return 0;
}

static int now_next(void *ring, unsigned *slot, ssize_t *result)
{
  struct blocking_ring *r = ring;
  const struct done *last = &r->done[--r->n];
  *slot = last->slot;
  *result = last->result;
  return 0;
}

const struct mafat_read_queue_how mafat_read_queue_now = {
    "read", sizeof(struct blocking_ring), now_open, now_close, now_start, now_next};
