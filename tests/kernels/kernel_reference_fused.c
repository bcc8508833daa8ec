/* Reference kernels of the fused class, in a table (kernel_reference.h). Called through that table
 * by kernel_check and unit tests. */
#define REFERENCE_FUSED 1
#define REFERENCE_TABLE mafat_reference_fused
#include "tests/kernels/kernel_reference_body.h"
