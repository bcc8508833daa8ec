/* The kernels for x86-64-v3: 8-lane vectors with fused multiply-add. Compiled
 * with -march=x86-64-v3; called only where cpuid says so. */
#define LEVEL_NAME "avx2"
#define LEVEL_TABLE mafat_kernels_avx2
#define LEVEL_VECTOR "runner/kernels/x86/vector_avx2.h"
#include "runner/kernels/bodies.h"
