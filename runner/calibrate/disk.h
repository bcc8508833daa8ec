/* Measures how fast a file is read without the page cache, with reads of the size that streamed
 * weights have. Reads through runner/weights/reads.h into the caller's memory. Included by
 * programs/mafat/doctor.c and calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_DISK_H
#define MAFAT_RUNNER_CALIBRATE_DISK_H

#include "base/tuning.h"
#include "runner/weights/reads.h"

enum {
  MAFAT_DISK_READ_BYTES = MAFAT_FETCH_BYTES, /* bytes of one read */
  MAFAT_DISK_READS = MAFAT_RING_READS, /* reads that are pending at a time */
  MAFAT_DISK_ROOM = MAFAT_DISK_READS * MAFAT_DISK_READ_BYTES, /* bytes of memory to read into */
  /* least bytes of a file with which the measurement is useful */
  MAFAT_DISK_LEAST_BYTES = 8 * MAFAT_DISK_READ_BYTES
};

struct mafat_disk_pass {
  uint64_t bytes;  /* bytes that were read, a multiple of MAFAT_DISK_READ_BYTES */
  double byte_ns;  /* elapsed nanoseconds for each byte; 0: nothing was read */
  double read_ns;  /* nanoseconds of processor time for each read; 0: nothing was read */
};

/* Reads the file of the queue `reads` from its beginning, at most most_bytes bytes, and for about
 * most_ms milliseconds. Then waits for pending reads. `memory` has MAFAT_DISK_ROOM bytes and is
 * page-aligned. After a failure (MAFAT_EIO, MAFAT_EFORMAT) the kernel may write to `memory` until
 * `reads` is closed. */
int mafat_disk_read_in_a_row(struct mafat_disk_pass *pass, struct mafat_read_queue *reads,
                             char *memory, uint64_t most_bytes, double most_ms,
                             struct mafat_diagnostic *d);

/* Returns the processor time of this process in nanoseconds. */
double mafat_disk_processor_ns(void);

#endif
