/* Reads the header of a .npy file and checks that it fits a network's input. Called by
 * runner/image/raw_input.c. Opens, reads and closes the file; allocates nothing. */
#include "runner/image/npy.h"

#include "base/open_file.h"
#include "formats/npy/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int read_beginning(const char *path, char *bytes, size_t *n, struct mafat_diagnostic *d)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : mafat_read_some(fd, bytes, MAFAT_NPY_ROOM, 0);
  int error = errno;
  if (fd >= 0) close(fd);
  if (got < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", path, strerror(error));
  *n = (size_t)got;
  return MAFAT_OK;
}

/* True if the file's shape equals the view's, not counting leading dimensions of 1. */
static bool is_of_view(const struct mafat_view *view, const struct mafat_npy *npy)
{
  int first = 0, found = 0;
  while (first < view->n_dims && view->dims[first] == 1) first++;
  while (found < npy->rank && npy->dims[found] == 1) found++;
  return npy->rank - found == view->n_dims - first &&
         memcmp(npy->dims + found, view->dims + first,
                (size_t)(npy->rank - found) * sizeof *npy->dims) == 0;
}

static int check_type(const char *path, const struct mafat_npy *npy, enum mafat_dtype *type,
                      struct mafat_diagnostic *d)
{
  if (mafat_npy_is(npy, mafat_dtypes[*type].array)) return MAFAT_OK;
  if (!mafat_npy_is(npy, mafat_dtypes[MAFAT_F32].array))
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected a .npy file of %s ('%s'), found %.*s",
                      path, mafat_dtype_name(*type), mafat_dtypes[*type].array,
                      mafat_npy_type_bytes(npy), npy->type);
  *type = MAFAT_F32;
  return MAFAT_OK;
}

static int check(const char *path, const struct mafat_npy *npy, const struct mafat_view *view,
                 struct mafat_diagnostic *d)
{
  if (npy->rank >= 0 && is_of_view(view, npy)) return MAFAT_OK;
  char expected[160] = "";
  size_t end = 0;
  for (int i = 0; i < view->n_dims && end < sizeof expected; i++)
    end += (size_t)snprintf(expected + end, sizeof expected - end, "%s%lld", i ? ", " : "",
                            view->dims[i]);
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a .npy file of shape (%s), found %.*s", path,
                    expected, mafat_npy_shape_bytes(npy), npy->shape);
}

int mafat_npy_read(const char *path, const struct mafat_view *view, enum mafat_dtype *type,
                   uint64_t *begin, struct mafat_diagnostic *d)
{
  char bytes[MAFAT_NPY_ROOM + 1];
  struct mafat_npy npy;
  size_t n = 0;
  *begin = 0;
  int code = read_beginning(path, bytes, &n, d);
  if (code || !mafat_npy_begins(bytes, n)) return code;
  code = mafat_npy_header(&npy, bytes, n, path, d);
  if (code) return code;
  *begin = npy.begin;
  if ((code = check_type(path, &npy, type, d))) return code;
  return check(path, &npy, view, d);
}
