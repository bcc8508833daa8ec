/* Asynchronous reads of one or more files that bypass the page cache. Uses O_DIRECT if the file
 * system supports it, else ordinary reads whose pages are dropped from the cache afterwards.
 * Opening chooses the first method that the kernel allows: io_uring, Linux AIO, or a helper thread
 * with pread (AIO last for ordinary reads, because it would block when they are submitted). Opening
 * allocates; submitting and waiting do not. One thread at a time may use a queue; a thread must not
 * end while reads that it submitted are pending. Included by api, programs/mafat/doctor.c,
 * runner/calibrate, runner/image/raw_input.h and runner/weights. */
#ifndef MAFAT_RUNNER_WEIGHTS_READS_H
#define MAFAT_RUNNER_WEIGHTS_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/model_source.h"
#include "base/tuning.h"

enum mafat_read_queue_method {
  MAFAT_READS_AUTO, /* the first of the following three that works */
  MAFAT_READS_URING,
  MAFAT_READS_AIO,
  MAFAT_READS_THREAD,
  MAFAT_READS_NOW /* synchronous reads, for a file that is in the page cache and stays there */
};

struct mafat_read_queue;

/* Opens a queue for a regular file or for memory. The source may be closed afterwards. Reads the
 * file's beginning as a trial. MAFAT_EIO; MAFAT_ENOMEM; MAFAT_EUNSUPPORTED: the given method does
 * not work with this kernel or build. */
int mafat_read_queue_open_source(struct mafat_read_queue **out,
                                 const struct mafat_model_source *source,
                                 enum mafat_read_queue_method method, struct mafat_diagnostic *d);
/* True if the whole file is in the page cache. */
bool mafat_read_queue_is_cached(const struct mafat_model_source *source);
/* Opens a queue for the file at `path`. */
int mafat_read_queue_open(struct mafat_read_queue **out, const char *path,
                          enum mafat_read_queue_method method, struct mafat_diagnostic *d);
/* Opens a queue for the file at `path`, which may have just been written: if it is entirely in the
 * page cache, it is read from there and stays cached. */
int mafat_read_queue_open_cached(struct mafat_read_queue **out, const char *path,
                                 struct mafat_diagnostic *d);
/* Adds another file to the queue; at most 4096 in total. After a failure, close the queue. */
int mafat_read_queue_add(struct mafat_read_queue *r, const char *path, struct mafat_diagnostic *d);
/* Waits for pending reads, then closes the queue and its files. */
void mafat_read_queue_close(struct mafat_read_queue **reads);

/* Returns a power of two, at most 4096. Offset, length and memory address of every read must be
 * multiples of it. */
size_t mafat_read_queue_alignment(const struct mafat_read_queue *r);
/* Returns the size in bytes that the file had when it was opened. */
uint64_t mafat_read_queue_file_bytes_of(const struct mafat_read_queue *r, unsigned file);

static inline uint64_t mafat_read_queue_file_bytes(const struct mafat_read_queue *r)
{
  return mafat_read_queue_file_bytes_of(r, 0);
}

/* Starts reading bytes [offset, offset + bytes) of a file into memory, which must not be used until
 * mafat_read_queue_wait for the slot has returned. A slot is a number below MAFAT_READS_DEPTH that
 * identifies the read; it must be free. The file may end within the range, but not before it;
 * memory after the file's end is then undefined. MAFAT_EIO: refused; the slot stays free. */
int mafat_read_queue_submit_of(struct mafat_read_queue *r, unsigned file, unsigned slot,
                               void *memory, size_t bytes, uint64_t offset,
                               struct mafat_diagnostic *d);

static inline int mafat_read_queue_submit(struct mafat_read_queue *r, unsigned slot, void *memory,
                                          size_t bytes, uint64_t offset, struct mafat_diagnostic *d)
{
  return mafat_read_queue_submit_of(r, 0, slot, memory, bytes, offset, d);
}

/* Waits until the slot's read is done; the slot is then free. MAFAT_EIO: reading failed;
 * MAFAT_EFORMAT: the file has become shorter since it was opened. */
int mafat_read_queue_wait(struct mafat_read_queue *r, unsigned slot, struct mafat_diagnostic *d);

/* Checks each file with fstat. MAFAT_EIO: since it was opened, its length or modification time has
 * changed, or it was removed. */
int mafat_reads_check(const struct mafat_read_queue *r, struct mafat_diagnostic *d);
/* Makes the same check, but files may have been removed. */
int mafat_read_queue_check_bytes(const struct mafat_read_queue *r, struct mafat_diagnostic *d);
/* mafat_read_queue_state returns the state (size, times) that a file had when it was opened.
 * mafat_reads_compare returns MAFAT_EIO if that state differs from *before. */
struct mafat_file_state mafat_read_queue_state(const struct mafat_read_queue *r, unsigned file);
int mafat_reads_compare(const struct mafat_read_queue *r, unsigned file,
                        const struct mafat_file_state *before, struct mafat_diagnostic *d);

/* Returns the contents of a source that is in memory, so that they need not be read. NULL: it is a
 * file, or not aligned to 64 bytes. */
const char *mafat_read_queue_memory(const struct mafat_read_queue *r, unsigned file);

uint64_t mafat_read_queue_bytes(const struct mafat_read_queue *r); /* bytes read so far */
/* True if reads are asynchronous, so that it is useful to submit them ahead of use. */
bool mafat_read_queue_waits(const struct mafat_read_queue *r);
/* Returns "io_uring", "aio", "thread", "read" or "memory". */
const char *mafat_read_queue_method_name(const struct mafat_read_queue *r);
/* True if the first file is read with O_DIRECT. */
bool mafat_read_queue_direct(const struct mafat_read_queue *r);

#endif
