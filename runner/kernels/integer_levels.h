/* The tables that integer.c chooses from, one per compiled level. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_LEVELS_H
#define MAFAT_RUNNER_KERNELS_INTEGER_LEVELS_H

struct mafat_integer_kernels; /* integer.h */

#define INTEGERS(name, ...) extern const struct mafat_integer_kernels mafat_integer_##name;
#include "base/levels.def"

#endif
