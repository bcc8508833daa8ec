/* What begins a file of an array as NumPy writes it (.npy): type, order and dimensions, as a dictionary's text. The
 * elements lie behind it. */
#ifndef MAFAT_FORMATS_NPY_NPY_H
#define MAFAT_FORMATS_NPY_NPY_H

#include "base/error.h"
#include "network/view.h"

#include <stdbool.h>
#include <stdint.h>

/* A reader gives so many bytes, or all that there are; NumPy's own headers have 128. */
enum { MAFAT_NPY_ROOM = 4096 };

struct mafat_npy {
  const char *type, *shape; /* as the text has them: '<f4', (1, 3) */
  int rank;                 /* -1: it is no shape, or of more dimensions than a view has */
  long long dims[MAFAT_VIEW_DIMS];
  uint64_t begin;           /* of the elements, in the file */
};

bool mafat_npy_begins(const char *bytes, size_t n);
/* Reads the n bytes that a file begins with, which it ends: there is room for one more. Points into them.
 * MAFAT_EFORMAT; MAFAT_EUNSUPPORTED: Fortran's order. */
int mafat_npy_header(struct mafat_npy *out, char *bytes, size_t n, const char *path, struct mafat_diagnostic *d);
/* How many bytes of it type and shape are, for messages. */
int mafat_npy_type_bytes(const struct mafat_npy *npy);
int mafat_npy_shape_bytes(const struct mafat_npy *npy);
/* Are the elements of that type: "<f4"? */
bool mafat_npy_is(const struct mafat_npy *npy, const char *type);

#endif
