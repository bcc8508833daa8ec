/* What the system says of this process: resident bytes, faults, swap. Reads /proc
 * through a small stack buffer. */
#ifndef MAFAT_RUNNER_OS_PROCESS_H
#define MAFAT_RUNNER_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAFAT_PROCESS_STACK = 20 << 10 };

/* Rss of /proc/self/smaps_rollup (exact, unlike the batched VmRSS), bytes; falls
 * back to /proc/self/statm. 0 where /proc is absent. */
size_t mafat_process_resident_bytes(void);
/* Those of `bytes` of a mapping, as far as they are in memory; `bytes` where the system does not say. */
size_t mafat_process_resident_bytes_of(const void *begin, size_t bytes);
/* Of a file of so many bytes the pages that lie in the page cache; all where the system does not say. */
size_t mafat_process_cached_bytes_of(int fd, size_t bytes);
/* VmHWM, bytes. Reported, never judged: the kernel batches it. */
size_t mafat_process_peak_bytes(void);
long mafat_process_major_faults(void);
/* Pages swapped in and out so far, system-wide, as bytes. */
void mafat_process_swap_bytes(uint64_t *in, uint64_t *out);

/* Of this program's file: code and constants, from one address to another. */
struct mafat_process_part {
  const char *begin, *end;
};

/* Makes pages of this program's file resident that would be when they are entered. */
void mafat_process_populate(const char *begin, const char *end);
/* Pages of this program's file that are mapped now and can be dropped; 0 where the program does not say where they
 * are (run_inference.ld), or the system which. */
size_t mafat_process_code_bytes(void);
/* Of this program's file, in whole pages; 0 where /proc is absent. */
size_t mafat_process_file_bytes(void);
/* Locks pages of it, as they are entered (lock.h), as far as the process may. */
void mafat_process_lock(const char *begin, const char *end);
/* Drops those that lie wholly between two addresses; locked ones stay. */
void mafat_process_drop(const char *begin, const char *end);
/* Drops all of them, locked ones too, but those of `parts`, which are in order. What is entered nevertheless comes back.
 * Code of `parts` that is used is kept by the kernel before files that nobody has mapped. */
void mafat_process_keep_code(const struct mafat_process_part *parts, int n_parts);
/* From here on a page of this program's file that is missing is read alone. */
void mafat_process_advise_code(void);
/* Makes pages of data that the program's file gives the process's own. They could be dropped else, and what then comes
 * back comes with all that the disk reads ahead: megabytes, where it is told so. */
void mafat_process_own_data(void);
/* Drops what is cached of this program's file and not mapped: whoever starts it next has to read it again. */
void mafat_process_forget_code(void);
/* Touches so much of the stack below the caller's as anything here takes; as many pages in every process of
 * a command, whatever addresses the kernel chose. */
void mafat_process_touch_stack(void);
/* Gives freed pages of the heap back to the system. */
void mafat_process_trim_heap(void);

/* Processors that this process may use; 1 where the system does not say. */
int mafat_process_processors(void);

/* Was this program linked statically, without a loader? */
bool mafat_process_is_static(void);

/* Milliseconds of CLOCK_MONOTONIC. */
double mafat_process_now_ms(void);

#endif
