/* How fast a file is read past the page cache, as plans with streamed weights read it. */
#ifndef MAFAT_RUNNER_CALIBRATE_DISK_H
#define MAFAT_RUNNER_CALIBRATE_DISK_H

#include "base/tuning.h"
#include "runner/weights/reads.h"

enum {
  MAFAT_DISK_READ_BYTES = MAFAT_FETCH_BYTES,
  MAFAT_DISK_READS = MAFAT_RING_READS, /* that are under way */
  MAFAT_DISK_ROOM = MAFAT_DISK_READS * MAFAT_DISK_READ_BYTES,
  MAFAT_DISK_LEAST_BYTES = 8 * MAFAT_DISK_READ_BYTES /* of a file that says something */
};

struct mafat_disk_pass {
  uint64_t bytes;  /* that were read: whole reads */
  double byte_ns;  /* of a byte; 0: none was read */
  double read_ns;  /* of the processor, for each read */
};

/* The file from its beginning, as far as most_bytes and most_ms let it come (the reads under way are waited for). `memory`:
 * MAFAT_DISK_ROOM bytes, on a page; the kernel's until `reads` is closed where this fails. MAFAT_EIO, MAFAT_EFORMAT. */
int mafat_disk_read_in_a_row(struct mafat_disk_pass *pass, struct mafat_reads *reads, char *memory, uint64_t most_bytes,
                             double most_ms, struct mafat_diagnostic *d);

/* What this process has had of the processors so far. */
double mafat_disk_processor_ns(void);

#endif
