/* Integer kernels for x86-64-v3: compiles integer_bodies.h. Listed in base/levels.def; selected by
 * runner/kernels/integer.c. */
#define INTEGER_NAME "avx2"
#define INTEGER_TABLE mafat_integer_avx2
#define INTEGER_VECTOR "runner/kernels/x86/integer_vector_avx2.h"
#include "runner/kernels/integer_bodies.h"
