/* Reads /proc/self/pagemap: which pages of this process are in memory, and which belong to files.
 * Reads in batches into the caller's buffer. The functions are inline, so that each caller has a
 * copy in its own part of the program's memory (runner/os/parts.def). Included by
 * api/model_files.c, headroom.c and process.c. */
#ifndef MAFAT_RUNNER_OS_PAGES_H
#define MAFAT_RUNNER_OS_PAGES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum { MAFAT_PAGES_AT_ONCE = 256 };

/* Returns a descriptor; -1: the system has no pagemap. */
static inline int mafat_pages_open(void)
{
  return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

/* Reads the entries of pages [at, to), numbered by address / page size; at most a buffer full.
 * Returns their number; 0 on failure. */
static inline size_t mafat_pages_read(int fd, uintptr_t at, uintptr_t to,
                                      uint64_t entries[MAFAT_PAGES_AT_ONCE])
{
  size_t wanted = to - at < MAFAT_PAGES_AT_ONCE ? to - at : MAFAT_PAGES_AT_ONCE;
  ssize_t got = pread(fd, entries, wanted * sizeof *entries, (off_t)(at * sizeof *entries));
  return got > 0 ? (size_t)got / sizeof *entries : 0;
}

static inline bool mafat_page_is_there(uint64_t entry)
{
  return entry >> 63;
}

/* True for pages of files and shared memory; false for private ones. */
static inline bool mafat_page_is_of_file(uint64_t entry)
{
  return entry >> 61 & 1;
}

#endif
