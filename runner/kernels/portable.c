/* Float kernels in plain C on 4-lane vectors, of the plain class: a product is rounded before it is
 * added (kernels.h). Compiles bodies.h; selected by runner/kernels/kernels.c. */
#define LEVEL_NAME "portable"
#define LEVEL_TABLE mafat_kernels_portable
#define LEVEL_VECTOR "runner/kernels/vector_portable.h"
#include "runner/kernels/bodies.h"
