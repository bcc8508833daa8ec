/* Reference kernels of the fused class (kernel_reference.h). */
#define REFERENCE_FUSED 1
#define REFERENCE_TABLE mafat_reference_fused
#include "tests/kernels/kernel_reference_body.h"
