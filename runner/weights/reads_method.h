/* A way of having reads done in the background (internal to reads*.c). It moves
 * bytes and reports what the kernel said, short reads and all; reads.c makes
 * whole reads of that. One thread calls it. */
#ifndef MAFAT_RUNNER_WEIGHTS_READS_METHOD_H
#define MAFAT_RUNNER_WEIGHTS_READS_METHOD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mafat_reads_how {
  const char *name;
  size_t ring_bytes; /* of the memory that the others are given: zeros before open */
  /* 0, or the error number why it cannot be; then it needs no close. */
  int (*open)(void *ring);
  /* Nothing is under way. */
  void (*close)(void *ring);
  /* Begins a read whose slot has none under way. 0 or an error number; EAGAIN: later. */
  int (*start)(void *ring, unsigned slot, int fd, void *memory, size_t bytes, uint64_t offset);
  /* Sleeps until one of the reads under way is done, whichever: its slot, and the
   * bytes that it read or the negated error number. 0 or an error number; EINTR: again. */
  int (*next)(void *ring, unsigned *slot, ssize_t *result);
};

extern const struct mafat_reads_how mafat_reads_uring, mafat_reads_aio, mafat_reads_thread, mafat_reads_now;

#endif
