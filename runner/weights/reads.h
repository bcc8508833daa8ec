/* Asynchronous reads of a file, or of some, past the page cache: O_DIRECT where the file
 * system has it, else ordinary reads whose pages are dropped behind the reader.
 * By io_uring, Linux AIO, or a helper thread with pread, whichever the kernel
 * allows first; chosen when opened. (AIO comes last where reads are ordinary: it
 * would do them while they are submitted.) Submitting and waiting allocate
 * nothing. Used by one thread, which must not end before what it submitted is done. */
#ifndef MAFAT_RUNNER_WEIGHTS_READS_H
#define MAFAT_RUNNER_WEIGHTS_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/model_source.h"
#include "base/tuning.h"

enum mafat_reads_method { MAFAT_READS_AUTO, MAFAT_READS_URING, MAFAT_READS_AIO, MAFAT_READS_THREAD };

struct mafat_reads;

/* Reads a regular file, or memory, which may be closed from then on; reads its beginning to know that reading works.
 * MAFAT_EIO; MAFAT_ENOMEM; MAFAT_EUNSUPPORTED when a method other than
 * MAFAT_READS_AUTO is asked for and the kernel, or this build, does without it. */
int mafat_reads_open_source(struct mafat_reads **out, const struct mafat_model_source *source, enum mafat_reads_method method,
                            struct mafat_diagnostic *d);
/* The same of a file that is opened for this. */
int mafat_reads_open(struct mafat_reads **out, const char *path, enum mafat_reads_method method,
                     struct mafat_diagnostic *d);
/* The same of a file that may have been written just now: one that lies in the page cache as a
 * whole is read from there, and stays there. */
int mafat_reads_open_cached(struct mafat_reads **out, const char *path, struct mafat_diagnostic *d);
/* Another file, behind those that there are; at most 4096 in all. After a failure the reads are to be closed. */
int mafat_reads_add(struct mafat_reads *r, const char *path, struct mafat_diagnostic *d);
/* Waits for what is under way. */
void mafat_reads_close(struct mafat_reads **reads);

/* Power of two, at most 4096: offset, length and memory of every read are its multiples. */
size_t mafat_reads_alignment(const struct mafat_reads *r);
uint64_t mafat_reads_file_bytes_of(const struct mafat_reads *r, unsigned file);

static inline uint64_t mafat_reads_file_bytes(const struct mafat_reads *r)
{
  return mafat_reads_file_bytes_of(r, 0);
}

/* Starts reading bytes [offset, offset + bytes) of a file into memory, which is the kernel's
 * until the slot has been waited for. A free slot, below MAFAT_READS_DEPTH. The file
 * may end within the range, not before it; memory past its end is undefined then.
 * MAFAT_EIO when the kernel does not take it: then the slot stays free. */
int mafat_reads_submit_of(struct mafat_reads *r, unsigned file, unsigned slot, void *memory, size_t bytes,
                          uint64_t offset, struct mafat_diagnostic *d);

static inline int mafat_reads_submit(struct mafat_reads *r, unsigned slot, void *memory, size_t bytes, uint64_t offset,
                                     struct mafat_diagnostic *d)
{
  return mafat_reads_submit_of(r, 0, slot, memory, bytes, offset, d);
}

/* Until the slot's read is done, and the slot free again. MAFAT_EIO when reading
 * failed; MAFAT_EFORMAT when the file ended earlier than it did when opened. */
int mafat_reads_wait(struct mafat_reads *r, unsigned slot, struct mafat_diagnostic *d);

/* MAFAT_EIO when a file is no longer what was opened: its length, its time of
 * modification, or no name leads to it any more. One fstat each. */
int mafat_reads_check(const struct mafat_reads *r, struct mafat_diagnostic *d);
/* The same, whatever names lead to it: is all that was read of one file? */
int mafat_reads_check_bytes(const struct mafat_reads *r, struct mafat_diagnostic *d);
/* A file's as it was opened; is that what was known of it before? MAFAT_EIO. */
struct mafat_file_state mafat_reads_state(const struct mafat_reads *r, unsigned file);
int mafat_reads_compare(const struct mafat_reads *r, unsigned file, const struct mafat_file_state *before, struct mafat_diagnostic *d);

/* The bytes of a file that is in memory, aligned for kernels: they need not be read. NULL: they need. */
const char *mafat_reads_memory(const struct mafat_reads *r, unsigned file);

uint64_t mafat_reads_bytes(const struct mafat_reads *r); /* read so far */
const char *mafat_reads_method_name(const struct mafat_reads *r); /* "io_uring", "aio", "thread" */
bool mafat_reads_direct(const struct mafat_reads *r); /* O_DIRECT, of the first file */

#endif
