/* Reads the header of a NumPy array file (.npy) that is used as an input; the elements follow it.
 * Opens and closes the file. Included by raw_input.c. */
#ifndef MAFAT_RUNNER_IMAGE_NPY_H
#define MAFAT_RUNNER_IMAGE_NPY_H

#include <stdint.h>

#include "base/error.h"
#include "network/dtype.h"
#include "network/view.h"

/* Checks that `path` is a .npy file that fits the view: little-endian, C order, elements of *type
 * or float32, and the view's dimensions, apart from leading dimensions of 1. Sets *begin to the
 * offset of the elements, and *type to their type. If it is not a .npy file, returns MAFAT_OK with
 * *begin = 0. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED, MAFAT_EIO. */
int mafat_npy_read(const char *path, const struct mafat_view *view, enum mafat_dtype *type,
                   uint64_t *begin, struct mafat_diagnostic *d);

#endif
