/* Parses .npy headers. Called by formats/graph/given.c and runner/image/npy.c. Works on the
 * caller's memory. */
#include "formats/npy/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";

bool mafat_npy_begins(const char *bytes, size_t n)
{
  return n >= sizeof magic - 1 && memcmp(bytes, magic, sizeof magic - 1) == 0;
}

/* Returns the text after 'key': in the header; NULL: absent. */
static const char *find(const char *text, const char *key)
{
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s':", key);
  const char *at = strstr(text, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  while (*at == ' ') at++;
  return at;
}

static int read_shape(const char *text, long long *dims)
{
  int n = 0;
  if (*text++ != '(') return -1;
  for (;;) {
    char *end;
    while (*text == ' ' || *text == ',') text++;
    if (*text == ')') return n;
    long long size = strtoll(text, &end, 10);
    if (end == text || size < 0 || n == MAFAT_VIEW_DIMS) return -1;
    dims[n++] = size;
    text = end;
  }
}

/* Returns the offset of the header's text; *length: its bytes. 0: unknown version, or the text is
 * incomplete. */
static size_t find_text(const char *bytes, size_t n, size_t *length)
{
  const unsigned char *u = (const unsigned char *)bytes;
  if (n < 12 || u[6] < 1 || u[6] > 3) return 0;
  size_t begin = u[6] == 1 ? 10 : 12;
  *length = (size_t)u[8] | (size_t)u[9] << 8;
  if (u[6] > 1) *length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
  return *length <= n - begin ? begin : 0;
}

int mafat_npy_header(struct mafat_npy *out, char *bytes, size_t n, const char *path,
                     struct mafat_diagnostic *d)
{
  size_t length, text = find_text(bytes, n, &length);
  if (!text || (text + length) % sizeof(float))
    return mafat_fail(d, MAFAT_EFORMAT, "%s: a .npy file with a damaged header", path);
  bytes[text + length] = '\0';
  const char *type = find(bytes + text, "descr"), *order = find(bytes + text, "fortran_order"),
             *shape = find(bytes + text, "shape");
  if (!type || !order || !shape)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: a .npy file without descr, fortran_order or shape",
                      path);
  if (strncmp(order, "False", 5) != 0)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected a .npy file in C order", path);
  *out = (struct mafat_npy){.type = type, .shape = shape, .begin = text + length};
  out->rank = read_shape(shape, out->dims);
  return MAFAT_OK;
}

int mafat_npy_type_bytes(const struct mafat_npy *npy)
{
  return (int)strcspn(npy->type, ",}\n");
}

int mafat_npy_shape_bytes(const struct mafat_npy *npy)
{
  return (int)strcspn(npy->shape, "}\n)") + 1;
}

bool mafat_npy_is(const struct mafat_npy *npy, const char *type)
{
  size_t n = strlen(type);
  return npy->type[0] == '\'' && strncmp(npy->type + 1, type, n) == 0 && npy->type[1 + n] == '\'';
}
