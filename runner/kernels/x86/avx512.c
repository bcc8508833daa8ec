/* The kernels for x86-64-v4: 16-lane vectors, masks, 32 registers. Compiled with
 * -march=x86-64-v4; called only where cpuid says so.
 *
 * Half a vector costs as much as a whole one: the last eight filters of a panel, or fewer, are
 * the 8-lane level's, which gives the same bits. */
#define LEVEL_NAME "avx512"
#define LEVEL_TABLE mafat_kernels_avx512
#define LEVEL_VECTOR "runner/kernels/x86/vector_avx512.h"
#define LEVEL_NARROW mafat_kernels_avx2
#include "runner/kernels/bodies.h"
