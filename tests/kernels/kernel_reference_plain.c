/* Reference kernels of the plain class, in a table (kernel_reference.h). Called through that table
 * by kernel_check and unit tests. */
#define REFERENCE_FUSED 0
#define REFERENCE_TABLE mafat_reference_plain
#include "tests/kernels/kernel_reference_body.h"
