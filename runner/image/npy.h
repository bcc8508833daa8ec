/* Files of arrays as NumPy writes them: a header of text, and the elements behind it. */
#ifndef MAFAT_RUNNER_IMAGE_NPY_H
#define MAFAT_RUNNER_IMAGE_NPY_H

#include <stdint.h>

#include "base/error.h"
#include "network/dtype.h"
#include "network/view.h"

/* Is it one, little-endian, in C order, of elements of *type or of 32-bit floats, whose dimensions are the view's, but for
 * ones in front? Then *begin is where they begin, and *type theirs. No such file at all: 0. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED;
 * MAFAT_EIO. */
int mafat_npy_read(const char *path, const struct mafat_view *view, enum mafat_dtype *type, uint64_t *begin,
                   struct mafat_diagnostic *d);

#endif
