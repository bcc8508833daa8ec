/* Portable level: plain C on 4-lane vectors that every compiler target maps to
 * what it has (SSE2, NEON, scalar). Plain class: products are rounded. */
#include "runner/kernels/levels.h"

#define LEVEL_NAME "portable"
#define LEVEL_TABLE mafat_kernels_portable
#include "runner/kernels/bodies.h"
