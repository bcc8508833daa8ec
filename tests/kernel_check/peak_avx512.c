/* Compiled with -march=x86-64-v4; called only where cpuid says so. */
#if defined(__x86_64__)
#define LEVEL_VECTOR "runner/kernels/x86/vector_avx512.h"
#define PEAK_FUNCTION peak_avx512
#define ACCUMULATORS 24
#include "tests/kernel_check/peak_body.h"
#else
typedef int peak_avx512_is_for_x86;
#endif
