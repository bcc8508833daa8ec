/* Reads a whole text file, or a pipe to its end, into memory. Called by the cfg reader
 * (formats/darknet/cfg.c). Allocates the text, which the caller frees; drops the file from the page
 * cache. */
#include "base/text_file.h"

#include "base/open_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the next bytes: by offset, or in sequence from a pipe. -1: errno is set. */
static ssize_t read_next(const struct mafat_model_source *s, void *to, size_t n, size_t at)
{
  return mafat_model_source_is_regular(s) ? mafat_model_source_read(s, to, n, at)
                                          : read(s->fd, to, n);
}

/* Bytes to allocate at first: the whole text of a regular file, its NUL, and one byte more, so that
 * the read that finds the end of the file has room. */
static size_t first_capacity(const struct mafat_model_source *s, size_t max_bytes)
{
  enum { USUAL = 16 << 10 };
  if (!mafat_model_source_is_regular(s) || s->bytes < USUAL - 2) return USUAL;
  return (s->bytes < max_bytes ? (size_t)s->bytes : max_bytes) + 2;
}

/* The buffer doubles as needed. */
static int read_to_end(const struct mafat_model_source *s, const char *what, size_t max_bytes,
                       char **text, size_t *bytes, struct mafat_diagnostic *d)
{
  const char *path = s->path;
  size_t capacity = 0;
  for (;;) {
    if (*bytes + 1 >= capacity) { /* one byte for the NUL */
      size_t larger = capacity ? capacity * 2 : first_capacity(s, max_bytes);
      bool taken = mafat_allowance_take(s->allowance, 1, larger - capacity);
      char *grown = taken ? realloc(*text, larger) : NULL;
      capacity = larger;
      if (!grown) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
      *text = grown;
    }
    ssize_t got = read_next(s, *text + *bytes, capacity - *bytes - 1, *bytes);
    if (got < 0 && mafat_read_again(s->fd)) continue;
    if (got < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", path, strerror(errno));
    *bytes += (size_t)got;
    (*text)[*bytes] = '\0';
    if (*bytes > max_bytes)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %s of at most %zu bytes in all, found more",
                        path, what, max_bytes);
    if (got == 0) return MAFAT_OK;
  }
}

int mafat_text_source_read(const struct mafat_model_source *s, const char *what, size_t max_bytes,
                           char **text, size_t *bytes, struct mafat_diagnostic *d)
{
  *text = NULL;
  *bytes = 0;
  int code = S_ISDIR(s->st.st_mode)
                 ? mafat_fail(d, MAFAT_EIO, "%s: expected %s, found a directory", s->path, what)
                 : read_to_end(s, what, max_bytes, text, bytes, d);
  mafat_model_source_drop(s, 0); /* the text is in memory now */
  if (code) {
    free(*text);
    *text = NULL;
    *bytes = 0;
  }
  return code;
}
