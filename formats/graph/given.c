/* Checks the texts NAME=FILE of constant inputs, and compares each file, raw or .npy, with the
 * input's type and dimensions. Called by formats/onnx/bind.c, formats/tflite/give.c and, to check
 * the texts, api/ (choose.c, packing/pack.c). Reads the files' headers and lengths. */
#include "formats/graph/given.h"

#include "formats/npy/npy.h"

#include <stdio.h>
#include <string.h>

int mafat_given_check(const struct mafat_given *given, struct mafat_diagnostic *d)
{
  if (given->n < 0 || (given->n > 0 && !given->list))
    return mafat_fail(d, MAFAT_EINVAL, "expected a list of constants, found %d of them in no list",
                      given->n);
  for (int i = 0; i < given->n; i++)
    if (!given->list[i])
      return mafat_fail(d, MAFAT_EINVAL, "expected NAME=FILE for constant %d, found nothing", i);
  return MAFAT_OK;
}

const char *mafat_given_path(const char *text, const char *name)
{
  size_t n = strlen(name);
  return strncmp(text, name, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
}

int mafat_given_refuse(const char *model, const char *text, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EINVAL,
                    "%s: expected NAME=FILE with an input's name for a constant, found %.100s",
                    model, text);
}

/* Formats dimensions as text, such as "(1, ?, 3)"; ?: unknown. */
static void write_shape(const struct mafat_array *a, char *text, size_t capacity)
{
  size_t end = (size_t)snprintf(text, capacity, "(");
  for (int i = 0; i < a->rank && end < capacity; i++)
    end += a->dims[i] < 0
               ? (size_t)snprintf(text + end, capacity - end, "%s?", i ? ", " : "")
               : (size_t)snprintf(text + end, capacity - end, "%s%lld", i ? ", " : "", a->dims[i]);
  if (end < capacity) snprintf(text + end, capacity - end, ")");
}

/* Sets unknown dimensions to the file's, and compares the known ones. Leading dimensions of size 1
 * are ignored. False: they differ. */
static bool match_dims(struct mafat_array *a, const long long *dims, int rank)
{
  if (a->rank < 0) {
    a->rank = rank;
    memcpy(a->dims, dims, (size_t)rank * sizeof *dims);
    return true;
  }
  for (int i = 1; i <= a->rank || i <= rank; i++) {
    long long found = i <= rank ? dims[rank - i] : 1,
              known = i <= a->rank ? a->dims[a->rank - i] : 1;
    if (known >= 0 && known != found) return false;
    if (i <= a->rank) a->dims[a->rank - i] = found;
  }
  return true;
}

static int read_npy(struct mafat_array *a, char *bytes, size_t n, const char *path,
                    struct mafat_diagnostic *d)
{
  struct mafat_npy npy;
  char expected[160];
  int code = mafat_npy_header(&npy, bytes, n, path, d);
  if (code) return code;
  if (!mafat_npy_is(&npy, a->type))
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a .npy file of '%s', found %.*s", path,
                      a->type, mafat_npy_type_bytes(&npy), npy.type);
  write_shape(a, expected, sizeof expected);
  a->at = npy.begin;
  if (npy.rank >= 0 && match_dims(a, npy.dims, npy.rank)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a .npy file of shape %s, found %.*s", path,
                    expected, mafat_npy_shape_bytes(&npy), npy.shape);
}

/* Sets the only unknown dimension, if any, from the length of a raw file. */
static int read_raw(struct mafat_array *a, const struct mafat_model_file *file,
                    struct mafat_diagnostic *d)
{
  uint64_t row = a->type_bytes;
  int unknown = -1;
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] < 0 && unknown >= 0) unknown = a->rank;
    else if (a->dims[i] < 0) unknown = i;
    else if (__builtin_mul_overflow(row, (uint64_t)a->dims[i], &row)) row = 0;
  }
  if (a->rank < 0 || unknown == a->rank)
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: the model does not say its dimensions: expected a .npy file",
                      file->path);
  if (unknown >= 0 && row > 0) a->dims[unknown] = (long long)(file->bytes / row);
  a->at = 0;
  return MAFAT_OK;
}

static bool count(struct mafat_array *a, uint64_t *bytes)
{
  a->n = 1;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] < 0 || __builtin_mul_overflow(a->n, (uint64_t)a->dims[i], &a->n)) return false;
  return !__builtin_mul_overflow(a->n, a->type_bytes, bytes);
}

int mafat_array_read(struct mafat_array *a, struct mafat_model_file *file,
                     struct mafat_diagnostic *d)
{
  char bytes[MAFAT_NPY_ROOM + 1], shape[160];
  size_t n = file->bytes < MAFAT_NPY_ROOM ? (size_t)file->bytes : MAFAT_NPY_ROOM;
  uint64_t expected = 0;
  int code = mafat_model_file_read(file, 0, n, bytes, d);
  if (code == MAFAT_OK)
    code = mafat_npy_begins(bytes, n) ? read_npy(a, bytes, n, file->path, d) : read_raw(a, file, d);
  if (code) return code;
  bool counted = count(a, &expected);
  if (counted && a->at <= file->bytes && expected == file->bytes - a->at) return MAFAT_OK;
  write_shape(a, shape, sizeof shape);
  return mafat_fail(d, MAFAT_EFORMAT,
                    "%s: expected %llu bytes of %s elements of type '%s', found %llu", file->path,
                    (unsigned long long)expected, shape, a->type,
                    (unsigned long long)(file->bytes - a->at));
}
