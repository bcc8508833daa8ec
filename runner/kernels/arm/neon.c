/* The kernels for NEON: fused on aarch64, plain on armv7. Compiled with
 * -march=armv7-a -mfpu=neon there; called only where the kernel says so. */
#define LEVEL_NAME "neon"
#define LEVEL_TABLE mafat_kernels_neon
#define LEVEL_VECTOR "runner/kernels/arm/vector_neon.h"
#include "runner/kernels/bodies.h"
