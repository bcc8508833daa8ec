/* Peak loop of the portable level, for bench.c: separate products and sums on four lanes, the
 * best that SSE2 offers. */
#define LEVEL_VECTOR "runner/kernels/vector_portable.h"
#define PEAK_FUNCTION peak_portable
#define ACCUMULATORS 10
#include "tests/kernel_check/peak_body.h"
