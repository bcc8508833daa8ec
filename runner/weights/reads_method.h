/* Interface between reads.c and the methods of reading (reads_*.c). A method reads bytes and
 * reports the kernel's results, including short reads, which reads.c completes. One thread at a
 * time. Included by runner/weights. */
#ifndef MAFAT_RUNNER_WEIGHTS_READS_METHOD_H
#define MAFAT_RUNNER_WEIGHTS_READS_METHOD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mafat_read_queue_how {
  const char *name;
  size_t ring_bytes; /* size of the method's state, `ring`; reads.c allocates and zeroes it */
  /* Returns 0, or an error number; then close is not called. */
  int (*open)(void *ring);
  /* Called with no pending reads. */
  void (*close)(void *ring);
  /* Starts a read in a free slot. Returns 0 or an error number; EAGAIN: retry later. */
  int (*start)(void *ring, unsigned slot, int fd, void *memory, size_t bytes, uint64_t offset);
  /* Sleeps until any pending read is done. *result: bytes read, or a negative error number. Returns
   * 0 or an error number; EINTR: retry. */
  int (*next)(void *ring, unsigned *slot, ssize_t *result);
};

extern const struct mafat_read_queue_how mafat_read_queue_uring, mafat_read_queue_aio,
    mafat_read_queue_thread, mafat_read_queue_now;

#endif
