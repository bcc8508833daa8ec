/* Reads the header of a NumPy array file (.npy) whose elements are a network's input. Opens, reads
 * and closes the file; allocates nothing. Included by raw_input.c. */
#ifndef MAFAT_RUNNER_IMAGE_NPY_H
#define MAFAT_RUNNER_IMAGE_NPY_H

#include <stdint.h>

#include "base/error.h"
#include "network/dtype.h"
#include "network/view.h"

/* Checks that `path` is a .npy file that fits the view: little-endian, in C order, with elements of
 * *type or float32, and with the view's dimensions, not counting leading dimensions of 1. Sets
 * *begin to the offset of the elements in the file, and *type to their type. If it is not a .npy
 * file, returns MAFAT_OK and sets *begin to 0. MAFAT_EFORMAT or MAFAT_EUNSUPPORTED: it does not
 * fit. MAFAT_EIO: it cannot be read. */
int mafat_npy_read(const char *path, const struct mafat_view *view, enum mafat_dtype *type,
                   uint64_t *begin, struct mafat_diagnostic *d);

#endif
