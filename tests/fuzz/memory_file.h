/* A file in memory with a name, for readers that want one: the same for all inputs of a target, for
 * to make one takes longer than to read what is small. */
#ifndef MAFAT_TESTS_FUZZ_MEMORY_FILE_H
#define MAFAT_TESTS_FUZZ_MEMORY_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
  char path[64]; /* "": not made yet */
  int fd;
};

/* It holds these bytes from now on. Its name. */
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
