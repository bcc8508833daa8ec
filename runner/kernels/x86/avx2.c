/* Float kernels for x86-64-v3: 8-lane vectors with fused multiply-add. Compiles bodies.h with the
 * flags in base/levels.def; selected by runner/kernels/kernels.c if cpuid reports the features. */
#define LEVEL_NAME "avx2"
#define LEVEL_TABLE mafat_kernels_avx2
#define LEVEL_VECTOR "runner/kernels/x86/vector_avx2.h"
#include "runner/kernels/bodies.h"
