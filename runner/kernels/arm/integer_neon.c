/* Integer kernels for NEON: compiles integer_bodies.h for this level. Listed in base/levels.def;
 * selected by runner/kernels/integer.c. */
#define INTEGER_NAME "neon"
#define INTEGER_TABLE mafat_integer_neon
#define INTEGER_VECTOR "runner/kernels/arm/integer_vector_neon.h"
#include "runner/kernels/integer_bodies.h"
