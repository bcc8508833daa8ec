/* Float kernels for x86-64-v4: 16-lane vectors, masks, 32 registers. Compiles bodies.h with the
 * flags in base/levels.def; selected by runner/kernels/kernels.c if cpuid reports the features.
 *
 * Half a vector costs as much as a whole one, so the last filters of a panel, if they are eight or
 * fewer, are computed by the 8-lane level, which gives the same bits. */
#define LEVEL_NAME "avx512"
#define LEVEL_TABLE mafat_kernels_avx512
#define LEVEL_VECTOR "runner/kernels/x86/vector_avx512.h"
#define LEVEL_NARROW mafat_kernels_avx2
#include "runner/kernels/bodies.h"
