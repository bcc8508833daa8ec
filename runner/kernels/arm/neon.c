/* Float kernels for NEON: fused multiply-add on aarch64, separate on armv7. Compiles bodies.h with
 * the flags in base/levels.def; selected by runner/kernels/kernels.c only on processors with
 * NEON. */
#define LEVEL_NAME "neon"
#define LEVEL_TABLE mafat_kernels_neon
#define LEVEL_VECTOR "runner/kernels/arm/vector_neon.h"
#include "runner/kernels/bodies.h"
