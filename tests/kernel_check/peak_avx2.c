/* Peak loop of the avx2 level, compiled with -march=x86-64-v3. bench.c calls it only if the
 * processor has the level. */
#if defined(__x86_64__)
#define LEVEL_VECTOR "runner/kernels/x86/vector_avx2.h"
#define PEAK_FUNCTION peak_avx2
#define ACCUMULATORS 12
#include "tests/kernel_check/peak_body.h"
#else
typedef int peak_avx2_is_for_x86; /* ISO C forbids an empty translation unit */
#endif
