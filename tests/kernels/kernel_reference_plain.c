/* Reference kernels of the plain class (kernel_reference.h). */
#define REFERENCE_FUSED 0
#define REFERENCE_TABLE mafat_reference_plain
#include "tests/kernels/kernel_reference_body.h"
