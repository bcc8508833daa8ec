/* Products and sums apart, four lanes: an SSE2 machine has nothing better. */
#define LEVEL_VECTOR "runner/kernels/vector_portable.h"
#define PEAK_FUNCTION peak_portable
#define ACCUMULATORS 10
#include "tests/kernel_check/peak_body.h"
