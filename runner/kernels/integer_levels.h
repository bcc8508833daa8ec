/* Declares the integer kernel table of each compiled level. Included by integer.c and
 * integer_bodies.h. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_LEVELS_H
#define MAFAT_RUNNER_KERNELS_INTEGER_LEVELS_H

struct mafat_integer_kernels; /* integer.h */

#define INTEGERS(name, ...) extern const struct mafat_integer_kernels mafat_integer_##name;
#include "base/levels.def"

#endif
