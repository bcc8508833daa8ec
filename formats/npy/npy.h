/* Reads the header of a NumPy array file (.npy): type, order and dimensions, as the text of a
 * dictionary. The elements follow it. Included by formats/graph/given.c and runner/image/npy.c.
 * Works on the caller's memory. */
#ifndef MAFAT_FORMATS_NPY_NPY_H
#define MAFAT_FORMATS_NPY_NPY_H

#include "base/error.h"
#include "network/view.h"

#include <stdbool.h>
#include <stdint.h>

/* bytes of the file's beginning that a caller reads; NumPy's own headers have 128 */
enum { MAFAT_NPY_ROOM = 4096 };

struct mafat_npy {
  const char *type, *shape; /* point into the header's text, such as '<f4' and (1, 3) */
  int rank;                 /* -1: not a shape, or more dimensions than a view has */
  long long dims[MAFAT_VIEW_DIMS];
  uint64_t begin;           /* byte offset of the elements */
};

bool mafat_npy_begins(const char *bytes, size_t n);
/* Parses the first n bytes of a file; writes a zero after them, so the buffer needs n + 1 bytes.
 * The result points into them. MAFAT_EFORMAT: damaged header; MAFAT_EUNSUPPORTED: Fortran order. */
int mafat_npy_header(struct mafat_npy *out, char *bytes, size_t n, const char *path,
                     struct mafat_diagnostic *d);
/* Lengths of the texts `type` and `shape`, which end without a zero; for messages. */
int mafat_npy_type_bytes(const struct mafat_npy *npy);
int mafat_npy_shape_bytes(const struct mafat_npy *npy);
/* True if the elements have this type, such as "<f4". */
bool mafat_npy_is(const struct mafat_npy *npy, const char *type);

#endif
