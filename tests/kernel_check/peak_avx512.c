/* Peak loop of the avx512 level, compiled with -march=x86-64-v4. bench.c calls it only if the
 * processor has the level. */
#if defined(__x86_64__)
#define LEVEL_VECTOR "runner/kernels/x86/vector_avx512.h"
#define PEAK_FUNCTION peak_avx512
#define ACCUMULATORS 24
#include "tests/kernel_check/peak_body.h"
#else
typedef int peak_avx512_is_for_x86; /* ISO C forbids an empty translation unit */
#endif
