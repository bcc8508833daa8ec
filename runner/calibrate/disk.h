/* Measures how fast a file is read past the page cache, with reads like those of streamed weights.
 * Reads through runner/weights/reads.h into the caller's memory. Included by
 * programs/mafat/doctor.c and calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_DISK_H
#define MAFAT_RUNNER_CALIBRATE_DISK_H

#include "base/tuning.h"
#include "runner/weights/reads.h"

enum {
  MAFAT_DISK_READ_BYTES = MAFAT_FETCH_BYTES,
  MAFAT_DISK_READS = MAFAT_RING_READS, /* reads in flight */
  MAFAT_DISK_ROOM = MAFAT_DISK_READS * MAFAT_DISK_READ_BYTES, /* memory for these */
  /* smallest file that gives a useful measurement */
  MAFAT_DISK_LEAST_BYTES = 8 * MAFAT_DISK_READ_BYTES
};

struct mafat_disk_pass {
  uint64_t bytes;  /* bytes read, in whole reads */
  double byte_ns;  /* elapsed time per byte; 0: nothing was read */
  double read_ns;  /* processor time per read */
};

/* Reads the file from its beginning, at most most_bytes and about most_ms milliseconds, then waits
 * for the reads in flight. `memory`: MAFAT_DISK_ROOM bytes, page-aligned; after a failure the
 * kernel may write to it until `reads` is closed. MAFAT_EIO, MAFAT_EFORMAT. */
int mafat_disk_read_in_a_row(struct mafat_disk_pass *pass, struct mafat_read_queue *reads,
                             char *memory, uint64_t most_bytes, double most_ms,
                             struct mafat_diagnostic *d);

/* Returns the processor time of this process in nanoseconds. */
double mafat_disk_processor_ns(void);

#endif
