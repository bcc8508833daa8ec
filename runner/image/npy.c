#include "runner/image/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of what begins a file; NumPy's own headers have 128 bytes. */
enum { ROOM = 4096 };

static const char magic[] = "\x93NUMPY";

/* As much as there is, ended by a zero. */
static int read_beginning(const char *path, char *bytes, size_t *n, struct mafat_diagnostic *d)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : pread(fd, bytes, ROOM, 0);
  int error = errno;
  if (fd >= 0) close(fd);
  if (got < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", path, strerror(error));
  *n = (size_t)got;
  bytes[got] = '\0';
  return MAFAT_OK;
}

/* What follows 'key': in the text of a dictionary; NULL: nothing does. */
static const char *find(const char *text, const char *key)
{
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s':", key);
  const char *at = strstr(text, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  return at + strspn(at, " ");
}

/* "(1, 3, 4)": ones in front are left out. -1: it is none, or has more dimensions than a view. */
static int read_shape(const char *text, long long *dims)
{
  int n = 0;
  if (*text++ != '(') return -1;
  for (;;) {
    char *end;
    text += strspn(text, " ,");
    if (*text == ')') return n;
    long long size = strtoll(text, &end, 10);
    if (end == text || size < 0) return -1;
    if (n == MAFAT_VIEW_DIMS) return -1;
    if (n > 0 || size != 1) dims[n++] = size;
    text = end;
  }
}

static bool is_of_view(const struct mafat_view *view, const long long *dims, int n)
{
  int first = 0;
  while (first < view->n_dims && view->dims[first] == 1) first++;
  return n == view->n_dims - first && memcmp(dims, view->dims + first, (size_t)n * sizeof *dims) == 0;
}

/* Where the text begins, and its length; 0: no version that is known, or the text does not end in what was read. */
static size_t find_text(const char *bytes, size_t n, size_t *length)
{
  const unsigned char *u = (const unsigned char *)bytes;
  if (n < 12 || u[6] < 1 || u[6] > 3) return 0;
  size_t begin = u[6] == 1 ? 10 : 12;
  *length = (size_t)u[8] | (size_t)u[9] << 8;
  if (u[6] > 1) *length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
  return *length <= n - begin ? begin : 0;
}

static int check_text(const char *path, const char *text, const struct mafat_view *view, struct mafat_diagnostic *d)
{
  long long dims[MAFAT_VIEW_DIMS];
  const char *type = find(text, "descr"), *order = find(text, "fortran_order"), *shape = find(text, "shape");
  if (!type || !order || !shape) return mafat_fail(d, MAFAT_EFORMAT, "%s: a .npy file without descr, fortran_order or shape", path);
  if (strncmp(type, "'<f4'", 5) != 0)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected a .npy file of float32 ('<f4'), found %.*s", path, (int)strcspn(type, ",}\n"), type);
  if (strncmp(order, "False", 5) != 0) return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected a .npy file in C order", path);
  int n = read_shape(shape, dims);
  if (n >= 0 && is_of_view(view, dims, n)) return MAFAT_OK;
  char expected[160] = "";
  size_t end = 0;
  for (int i = 0; i < view->n_dims && end < sizeof expected; i++)
    end += (size_t)snprintf(expected + end, sizeof expected - end, "%s%lld", i ? ", " : "", view->dims[i]);
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a .npy file of shape (%s), found %.*s", path, expected, (int)strcspn(shape, "}\n)") + 1, shape);
}

int mafat_npy_read(const char *path, const struct mafat_view *view, uint64_t *begin, struct mafat_diagnostic *d)
{
  char bytes[ROOM + 1];
  size_t n = 0, length;
  *begin = 0;
  int code = read_beginning(path, bytes, &n, d);
  if (code || n < sizeof magic - 1 || memcmp(bytes, magic, sizeof magic - 1) != 0) return code;
  size_t text = find_text(bytes, n, &length);
  if (!text || (text + length) % sizeof(float)) return mafat_fail(d, MAFAT_EFORMAT, "%s: a .npy file with a damaged header", path);
  bytes[text + length] = '\0';
  *begin = text + length;
  return check_text(path, bytes + text, view, d);
}
