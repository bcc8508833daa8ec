/* Portable level: plain C on 4-lane vectors. Plain class: products are rounded. */
#define LEVEL_NAME "portable"
#define LEVEL_TABLE mafat_kernels_portable
#define LEVEL_VECTOR "runner/kernels/vector_portable.h"
#include "runner/kernels/bodies.h"
