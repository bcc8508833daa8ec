/* Which pages of this process are in memory, and whose they are, as /proc/self/pagemap has it: read some at a time, through a
 * buffer of the caller's. Inline: each of its callers has its part (parts.def). */
#ifndef MAFAT_RUNNER_OS_PAGES_H
#define MAFAT_RUNNER_OS_PAGES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum { MAFAT_PAGES_AT_ONCE = 256 };

/* A descriptor; -1: the system does not say. */
static inline int mafat_pages_open(void)
{
  return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

/* Of pages from number `at` on up to `to`: how many were read, 0 where the system does not say. */
static inline size_t mafat_pages_read(int fd, uintptr_t at, uintptr_t to, uint64_t entries[MAFAT_PAGES_AT_ONCE])
{
  size_t wanted = to - at < MAFAT_PAGES_AT_ONCE ? to - at : MAFAT_PAGES_AT_ONCE;
  ssize_t got = pread(fd, entries, wanted * sizeof *entries, (off_t)(at * sizeof *entries));
  return got > 0 ? (size_t)got / sizeof *entries : 0;
}

static inline bool mafat_page_is_there(uint64_t entry)
{
  return entry >> 63;
}

/* Of a file, or shared; else the process's own. */
static inline bool mafat_page_is_of_file(uint64_t entry)
{
  return entry >> 61 & 1;
}

#endif
