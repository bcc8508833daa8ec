/* Integer kernels for x86-64-v4: compiles integer_bodies.h. Listed in base/levels.def; selected by
 * runner/kernels/integer.c. */
#define INTEGER_NAME "avx512"
#define INTEGER_TABLE mafat_integer_avx512
#define INTEGER_VECTOR "runner/kernels/x86/integer_vector_avx512.h"
#include "runner/kernels/integer_bodies.h"
