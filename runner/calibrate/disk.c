/* Measures sequential reads that bypass the page cache. Called by runner/calibrate/calibrate.c and
 * programs/mafat/doctor.c. Reads a file through runner/weights/reads.h into the caller's memory. */
#include "runner/calibrate/disk.h"

#include "runner/os/process.h"

#include <time.h>

enum { READ_BYTES = MAFAT_DISK_READ_BYTES, READS = MAFAT_DISK_READS };

double mafat_disk_processor_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int mafat_disk_read_in_a_row(struct mafat_disk_pass *pass, struct mafat_read_queue *reads,
                             char *memory, uint64_t most_bytes, double most_ms,
                             struct mafat_diagnostic *d)
{
  uint64_t file_bytes = mafat_read_queue_file_bytes(reads);
  uint64_t n = (file_bytes < most_bytes ? file_bytes : most_bytes) / READ_BYTES;
  double begin = mafat_process_now_ms(), processor = mafat_disk_processor_ns();
  int code = MAFAT_OK;
  for (uint64_t i = 0; code == MAFAT_OK && i < n + READS; i++) {
    unsigned slot = (unsigned)(i % READS);
    if (i >= READS && i - READS < n) code = mafat_read_queue_wait(reads, slot, d);
    if (i < n && mafat_process_now_ms() - begin > most_ms) n = i;
    if (code == MAFAT_OK && i < n)
      code = mafat_read_queue_submit(reads, slot, memory + slot * READ_BYTES, READ_BYTES,
                                     i * READ_BYTES, d);
  }
  *pass = (struct mafat_disk_pass){.bytes = n * READ_BYTES};
  if (n > 0) {
    pass->byte_ns = (mafat_process_now_ms() - begin) * 1e6 / (double)pass->bytes;
    pass->read_ns = (mafat_disk_processor_ns() - processor) / (double)n;
  }
  return code;
}
