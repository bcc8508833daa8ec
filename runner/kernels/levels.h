/* Declares the float kernel table of each compiled level. Included by bodies.h and kernels.c. */
#ifndef MAFAT_RUNNER_KERNELS_LEVELS_H
#define MAFAT_RUNNER_KERNELS_LEVELS_H

struct mafat_kernels; /* kernels.h */

#define LEVEL(name, ...) extern const struct mafat_kernels mafat_kernels_##name;
#include "base/levels.def"

#endif
