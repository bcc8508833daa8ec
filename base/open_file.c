/* Opens a path for reading, and reads with retries. Called by base/model_source.c,
 * base/model_file.c, base/text_file.c and the readers of pictures (runner/image). Opens file
 * descriptors. */
#include "base/open_file.h"

#include "base/part.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns 3 for "/dev/fd/3"; -1 for other paths. */
static int descriptor_of(const char *path)
{
  static const char folder[] = "/dev/fd/";
  const char *digits = path + sizeof folder - 1;
  char *end;
  if (strncmp(path, folder, sizeof folder - 1) != 0 || !isdigit((unsigned char)*digits)) return -1;
  unsigned long fd = strtoul(digits, &end, 10);
  return *end || fd > INT_MAX ? -1 : (int)fd;
}

MAFAT_PART(opening) int mafat_open_file(const char *path)
{
  struct stat st;
  int fd = descriptor_of(path);
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) return fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return open(path, O_RDONLY | O_CLOEXEC);
}

const char *mafat_file_kind(mode_t mode)
{
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a pipe"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

bool mafat_read_again(int fd)
{
  struct pollfd there = {.fd = fd, .events = POLLIN};
  return errno == EINTR || (errno == EAGAIN && (poll(&there, 1, -1) >= 0 || errno == EINTR));
}

ssize_t mafat_read_some(int fd, void *to, size_t n, off_t at)
{
  size_t done = 0;
  while (done < n) {
    char *next = (char *)to + done;
    ssize_t got = at < 0 ? read(fd, next, n - done) : pread(fd, next, n - done, at + (off_t)done);
    if (got < 0 && mafat_read_again(fd)) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}
