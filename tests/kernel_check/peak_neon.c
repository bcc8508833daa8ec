/* Peak loop of the neon level, for bench.c. Compiled with the flags of
 * runner/kernels/arm/neon.c. */
#include "tests/kernel_check/peak.h"

#if defined(__ARM_NEON)
#define LEVEL_VECTOR "runner/kernels/arm/vector_neon.h"
#define PEAK_FUNCTION peak_neon
#if defined(__aarch64__)
#define ACCUMULATORS 24
#else
#define ACCUMULATORS 10
#endif
#include "tests/kernel_check/peak_body.h"
#else
typedef int peak_neon_is_for_arm; /* ISO C forbids an empty translation unit */
#endif
