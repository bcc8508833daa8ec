/* Interface between reads.c and the methods of reading (reads_uring.c, reads_aio.c, reads_thread.c,
 * reads_now.c). A method reads bytes and reports the kernel's results; reads.c completes short
 * reads. One thread at a time calls a method. Included by these files and reads.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_READS_METHOD_H
#define MAFAT_RUNNER_WEIGHTS_READS_METHOD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mafat_read_queue_how {
  const char *name;
  size_t ring_bytes; /* size of the method's state, `ring`; reads.c allocates and zeroes it */
  /* Returns 0 or an error number. After an error, close is not called. */
  int (*open)(void *ring);
  /* Frees what `open` made. Called when no reads are pending, or after `next` has failed. */
  void (*close)(void *ring);
  /* Starts a read with the number `slot`, which no pending read has. Returns 0 or an error number;
   * EAGAIN: try again later. */
  int (*start)(void *ring, unsigned slot, int fd, void *memory, size_t bytes, uint64_t offset);
  /* Sleeps until any pending read is done. *slot: its number. *result: bytes read, or a negative
   * error number. Returns 0 or an error number of waiting; EINTR: call again. */
  int (*next)(void *ring, unsigned *slot, ssize_t *result);
};

extern const struct mafat_read_queue_how mafat_read_queue_uring, mafat_read_queue_aio,
    mafat_read_queue_thread, mafat_read_queue_now;

#endif
