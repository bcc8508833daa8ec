/* Integer kernels for NEON. */
#define INTEGER_NAME "neon"
#define INTEGER_TABLE mafat_integer_neon
#define INTEGER_VECTOR "runner/kernels/arm/integer_vector_neon.h"
#include "runner/kernels/integer_bodies.h"
