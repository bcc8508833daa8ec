/* Reads class names, one on each line. Called by programs/run_inference and programs/mafat_serve.
 * Opens the file, and allocates the names, which mafat_names_close frees. */
#include "programs/run_inference/names.h"

#include "base/mebibytes.h"
#include "base/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mafat_names {
  char *text;       /* the file, every line ended by a NUL */
  uint32_t *starts; /* (n): offset of each line in `text` */
  int n;
};

struct names_text {
  char *bytes;
  size_t n, most; /* n: bytes read; most: limit of the memory for names, in bytes */
};

static int refuse(const struct names_text *t, size_t needed, const char *path,
                  struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_ELIMIT,
                    "%s: does not fit: labels need at least %.1f MiB, %.1f MiB are left", path,
                    mafat_mebibytes_up(needed), mafat_mebibytes_down(t->most));
}

/* Reads the file, which may be a pipe, to its end and appends a NUL. bytes: the file's size, if
 * known. */
static int read_all(struct names_text *t, int fd, size_t bytes, const char *path,
                    struct mafat_diagnostic *d)
{
  size_t capacity = 0;
  for (ssize_t got = 1; got != 0;) {
    if (t->n + 1 >= capacity) {
      capacity = capacity ? capacity * 2 : bytes < 16382 ? 16384 : bytes + 2;
      if (capacity > t->most) return refuse(t, capacity, path, d);
      char *grown = realloc(t->bytes, capacity);
      if (!grown) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
      t->bytes = grown;
    }
    got = read(fd, t->bytes + t->n, capacity - t->n - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", path, strerror(errno));
    t->n += (size_t)got;
    t->bytes[t->n] = '\0';
    if (t->n > MAFAT_NAMES_MAX_BYTES)
      return mafat_fail(d, MAFAT_EFORMAT,
                        "%s: expected labels of at most %zu bytes in all, found more", path,
                        (size_t)MAFAT_NAMES_MAX_BYTES);
  }
  return MAFAT_OK;
}

/* Returns the number of bytes to read. For a file that is too long, this is one more than the
 * limit, so that read_all() notices. */
static size_t size_of(const struct stat *st)
{
  return st->st_size < MAFAT_NAMES_MAX_BYTES ? (size_t)st->st_size
                                             : (size_t)MAFAT_NAMES_MAX_BYTES + 1;
}

MAFAT_PART(opening)
static int read_file(struct names_text *t, const char *path, struct mafat_diagnostic *d)
{
  struct stat st;
  int code, fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0)
    code = mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
  else if (S_ISDIR(st.st_mode))
    code = mafat_fail(d, MAFAT_EIO, "%s: expected labels, found a directory", path);
  else
    code = read_all(t, fd, S_ISREG(st.st_mode) ? size_of(&st) : 0, path, d);
  if (fd >= 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* drops the page cache of the file */
  if (fd >= 0) close(fd);
  return code;
}

/* Counts lines. A last line without a newline counts. */
static int count_lines(const struct names_text *t)
{
  int n = 0;
  for (size_t i = 0; i < t->n; i++) n += t->bytes[i] == '\n';
  return t->n && t->bytes[t->n - 1] != '\n' ? n + 1 : n;
}

static void split_lines(struct mafat_names *names, const struct names_text *t)
{
  bool has_mark = strncmp(t->bytes, "\xef\xbb\xbf", 3) == 0;
  char *line = t->bytes + (has_mark ? 3 : 0), *end = t->bytes + t->n;
  for (int i = 0; i < names->n; i++) {
    char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    names->starts[i] = (uint32_t)(line - t->bytes);
    char *next = stop < end ? stop + 1 : end;
    while (stop > line && stop[-1] == '\r') stop--;
    *stop = 0;
    line = next;
  }
}

static int make_names(struct mafat_names *names, struct names_text *t, const char *path,
                      struct mafat_diagnostic *d)
{
  names->n = count_lines(t);
  if (names->n > MAFAT_NAMES_MAX_LABELS)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected at most %d labels, found %d", path,
                      MAFAT_NAMES_MAX_LABELS, names->n);
  size_t bytes = ((size_t)names->n + 1) * sizeof *names->starts;
  if (bytes > t->most - t->n) return refuse(t, bytes + t->n, path, d);
  names->starts = malloc(((size_t)names->n + 1) * sizeof *names->starts);
  if (!names->starts) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  split_lines(names, t);
  names->text = t->bytes;
  t->bytes = NULL;
  return MAFAT_OK;
}

MAFAT_PART(opening)
int mafat_names_read(struct mafat_names **out, const char *path, struct mafat_diagnostic *d)
{
  return mafat_names_read_within(out, path, SIZE_MAX, d);
}

MAFAT_PART(opening)
int mafat_names_read_within(struct mafat_names **out, const char *path, size_t most,
                            struct mafat_diagnostic *d)
{
  struct names_text text = {.most = most};
  struct mafat_names *names = NULL;
  *out = NULL;
  int code = read_file(&text, path, d);
  if (code) goto done;
  if (memchr(text.bytes, 0, text.n)) {
    code = mafat_fail(d, MAFAT_EFORMAT, "%s: expected text, found a NUL byte", path);
    goto done;
  }
  names = calloc(1, sizeof *names);
  code = names ? make_names(names, &text, path, d)
               : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  if (code) mafat_names_close(&names);
  else *out = names;
done:
  free(text.bytes);
  return code;
}

void mafat_names_close(struct mafat_names **names)
{
  if (!names || !*names) return;
  free((*names)->starts);
  free((*names)->text);
  free(*names);
  *names = NULL;
}

int mafat_names_count(const struct mafat_names *names)
{
  return names ? names->n : 0;
}

const char *mafat_names_label(const struct mafat_names *names, int class,
                              char capacity[MAFAT_NAMES_ROOM])
{
  if (class >= 0 && class < mafat_names_count(names)) {
    const char *label = names->text + names->starts[class];
    if (*label) return label;
  }
  snprintf(capacity, MAFAT_NAMES_ROOM, "class %d", class);
  return capacity;
}
