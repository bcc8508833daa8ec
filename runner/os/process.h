/* Measures this process (resident bytes, faults, swap) and makes pages of its code, data and stack
 * resident, locked or dropped. Reads /proc; uses madvise, mlock and mprotect on the program's own
 * mappings. Included by api, programs/mafat, programs/mafat_ranks, runner/calibrate, runner/engine,
 * runner/os and runner/weights. */
#ifndef MAFAT_RUNNER_OS_PROCESS_H
#define MAFAT_RUNNER_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAFAT_PROCESS_STACK = 20 << 10 }; /* most bytes of stack that the library uses */

/* Returns Rss of /proc/self/smaps_rollup in bytes: exact, unlike the batched VmRSS. Falls back to
 * /proc/self/statm; 0 without /proc. */
size_t mafat_process_resident_bytes(void);
/* Returns the most bytes that were ever resident in this process, including the time before exec(),
 * when it ran another program. Needs no /proc. */
size_t mafat_process_most_resident_bytes(void);
/* Returns the number of resident bytes of a mapping of `bytes` bytes; `bytes` if the system does
 * not report it. */
size_t mafat_process_resident_bytes_of(const void *begin, size_t bytes);
/* Returns how many bytes of a file of `bytes` bytes are in the page cache; `bytes` if the system
 * does not report it; 0 if it only reports it for mapped files and the file cannot be mapped. */
size_t mafat_process_cached_bytes_of(int fd, size_t bytes);
/* Returns the peak of the resident bytes (VmHWM). Inexact: the kernel updates it in batches. */
size_t mafat_process_peak_bytes(void);
long mafat_process_major_faults(void);
/* Returns bytes swapped in and out since boot, system-wide. */
void mafat_process_swap_bytes(uint64_t *in, uint64_t *out);

/* Address range of code and constants in the program's file. */
struct mafat_process_part {
  const char *begin, *end;
};

/* Maps `bytes` of private zeroed memory; MAP_FAILED on failure. The caller unmaps them. Asks for
 * huge pages in the first huge_bytes, but only for those that these bytes fill: a caller that uses
 * all of them makes no more memory resident. */
void *mafat_process_map(size_t bytes, size_t huge_bytes);
/* Makes the pages of writable memory resident in one call, as if they had been written. Before
 * Linux 5.14 it does nothing, and each page becomes resident by its own fault. */
void mafat_process_populate_writable(void *memory, size_t bytes);
/* Makes the range's pages resident, as if they had been read. */
void mafat_process_populate(const char *begin, const char *end);
/* Returns the resident bytes of the program's file that can be dropped. 0: the program was not
 * linked with run_inference.ld, or there is no pagemap. */
size_t mafat_process_code_bytes(void);
/* Returns the size of the program's file in whole pages; 0 without /proc. */
size_t mafat_process_file_bytes(void);
/* Locks each page of the range when it is touched (runner/os/lock.h), as far as permitted. */
void mafat_process_lock(const char *begin, const char *end);
/* Drops the pages entirely inside the range; locked ones stay. */
void mafat_process_drop(const char *begin, const char *end);
/* Unlocks all pages of the program's code, and drops them except those of `parts`, which are sorted
 * by address. Dropped pages are read again when the program touches them. The pages of `parts` then
 * look used to the kernel, so it reclaims unmapped file pages first. */
void mafat_process_keep_code(const struct mafat_process_part *parts, int n_parts);
/* Disables read-ahead for missing pages of the program's file. */
void mafat_process_advise_code(void);
/* Makes the program's initialized data private, by writing to each of its pages. Otherwise the
 * kernel could drop it, and would read it again with the disk's whole read-ahead, up to
 * megabytes. */
void mafat_process_own_data(void);
/* Drops cached, unmapped pages of the program's file. The next start reads them again. */
void mafat_process_forget_code(void);
/* Touches MAFAT_PROCESS_STACK bytes below the caller's stack. So every process that runs the same
 * command has the same number of stack pages, whatever addresses the kernel chose. In a static
 * program, also drops the stack pages below those bytes. */
void mafat_process_touch_stack(void);
/* Returns freed heap pages to the system. */
void mafat_process_trim_heap(void);

/* Returns the processors that this process may use; 1 if unknown. */
int mafat_process_processors(void);

/* True if the program is linked statically, without a loader. */
bool mafat_process_is_static(void);

/* Milliseconds of CLOCK_MONOTONIC. */
double mafat_process_now_ms(void);

#endif
