#include "base/text_file.h"

#include "base/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads to the end of fd; the buffer grows by doubling. */
static int read_to_end(int fd, const char *path, const char *what, size_t max_bytes, char **text,
                       size_t *bytes, struct mafat_diagnostic *d)
{
  size_t room = 0;
  for (;;) {
    if (*bytes + 1 >= room) { /* one byte for the NUL */
      room = room ? room * 2 : 16384;
      char *grown = realloc(*text, room);
      if (!grown) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
      *text = grown;
    }
    ssize_t got = read(fd, *text + *bytes, room - *bytes - 1);
    if (got < 0 && mafat_read_again(fd)) continue;
    if (got < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", path, strerror(errno));
    *bytes += (size_t)got;
    (*text)[*bytes] = '\0';
    if (*bytes > max_bytes)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %s of at most %zu bytes in all, found more", path,
                        what, max_bytes);
    if (got == 0) return MAFAT_OK;
  }
}

int mafat_text_file_read(const char *path, const char *what, size_t max_bytes, char **text,
                         size_t *bytes, struct mafat_diagnostic *d)
{
  struct stat st;
  int code, fd = mafat_open_file(path);
  *text = NULL;
  *bytes = 0;
  if (fd < 0 || fstat(fd, &st) != 0)
    code = mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
  else if (S_ISDIR(st.st_mode))
    code = mafat_fail(d, MAFAT_EIO, "%s: expected %s, found a directory", path, what);
  else
    code = read_to_end(fd, path, what, max_bytes, text, bytes, d);
  if (fd >= 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* it is in *text now */
  if (fd >= 0) close(fd);
  if (code) {
    free(*text);
    *text = NULL;
    *bytes = 0;
  }
  return code;
}
