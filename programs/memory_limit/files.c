/* Evicts files from the page cache, opens and removes output files, and finds programs in PATH.
 * Called by memory_limit.c. */
#include "programs/memory_limit/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EVICT_TRIES = 50, EVICT_PAUSE_NS = 20000000 };

/* Returns the number of the file's pages that are in the page cache; -1: unknown. */
static long pages_cached(int fd, size_t bytes)
{
  if (bytes == 0) return 0;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), n_pages = (bytes + page - 1) / page;
  long n = 0;
  void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  unsigned char *resident = malloc(n_pages);
  if (map == MAP_FAILED || !resident || mincore(map, bytes, resident) != 0) n = -1;
  else
    for (size_t i = 0; i < n_pages; i++) n += resident[i] & 1;
  free(resident);
  if (map != MAP_FAILED) munmap(map, bytes);
  return n;
}

bool file_evict(const char *path, struct why *why)
{
  struct timespec pause = {0, EVICT_PAUSE_NS};
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return why_not(why, "--evict %s: %s", path, strerror(errno));
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    return why_not(why, "--evict expects a file, found %s", path);
  }
  long left = -1;
  for (int i = 0; i < EVICT_TRIES && left != 0; i++) {
    if (i > 0) nanosleep(&pause, NULL);
    fsync(fd); /* dirty pages would not be evicted */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    left = pages_cached(fd, (size_t)st.st_size);
  }
  close(fd);
  if (left == 0) return true;
  if (left < 0) return why_not(why, "--evict %s: what is cached of it cannot be seen", path);
  return why_not(
      why, "--evict %s: %ld pages stay in the page cache (on tmpfs, or mapped by another process?)",
      path, left);
}

bool file_is(int fd, const char *path)
{
  struct stat a, b;
  return fstat(fd, &a) == 0 && S_ISREG(a.st_mode) && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

bool output_open(struct output *output, const char *path, int fd, struct why *why)
{
  *output = (struct output){.path = path, .fd = fd};
  if (!path) return true;
  output->made = access(path, F_OK) != 0;
  output->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (output->fd >= 0) return true;
  output->made = false;
  return why_not(why, "%s cannot be written: %s", path, strerror(errno));
}

bool output_empty(struct output *output, struct why *why)
{
  struct stat st;
  if (!output->path || fstat(output->fd, &st) != 0 || !S_ISREG(st.st_mode)) return true;
  return ftruncate(output->fd, 0) == 0 ||
         why_not(why, "%s cannot be written: %s", output->path, strerror(errno));
}

void output_close(struct output *output, bool keep)
{
  if (!output->path || output->fd < 0) return;
  close(output->fd);
  output->fd = -1;
  if (!keep && output->made) unlink(output->path);
}

bool program_find(char *path, size_t capacity, const char *name, struct why *why)
{
  struct stat st;
  bool found = false;
  const char *folder = strchr(name, '/') ? "" : getenv("PATH");
  if (!*name) return why_not(why, "expected a program, found ''");
  if (!folder) folder = "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    size_t n = strcspn(folder, ":");
    bool here = strchr(name, '/') != NULL;
    int length = snprintf(path, capacity, "%.*s%s%s", (int)n, folder,
                          here ? ""
                          : n  ? "/"
                               : "./",
                          name);
    if (length > 0 && (size_t)length < capacity && stat(path, &st) == 0) {
      if (S_ISREG(st.st_mode) && access(path, X_OK) == 0) return true;
      found = true;
    }
    if (here || !folder[n]) break;
    folder += n + 1;
  }
  if (found) return why_not(why, "%s is no program that may be run", name);
  return why_not(why, "%s: there is no such program", name);
}
