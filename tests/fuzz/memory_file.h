/* A file in memory that has a path, for functions that read a file by path. A fuzz target makes
 * one file and reuses it, because making a file takes longer than reading a small input.
 * Included by fuzz targets. */
#ifndef MAFAT_TESTS_FUZZ_MEMORY_FILE_H
#define MAFAT_TESTS_FUZZ_MEMORY_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
  char path[64]; /* "": the file is not made yet */
  int fd;
};

/* Replaces the file's content, and makes the file if needed. Returns its path; aborts on
 * failure. */
static inline const char *memory_file_write(struct memory_file *f, const void *bytes, size_t n)
{
  if (!f->path[0]) {
    f->fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
  }
  bool written = f->fd >= 0 && (n == 0 || pwrite(f->fd, bytes, n, 0) == (ssize_t)n) &&
                 ftruncate(f->fd, (off_t)n) == 0;
  if (!written) abort();
  return f->path;
}

#endif
