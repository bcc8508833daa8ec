/* Integer kernels for x86-64-v4 with AVX512-VNNI: compiles integer_bodies.h. Listed in
 * base/levels.def; selected by runner/kernels/integer.c. */
#define INTEGER_NAME "avx512vnni"
#define INTEGER_TABLE mafat_integer_avx512vnni
#define INTEGER_VECTOR "runner/kernels/x86/integer_vector_avx512.h"
#define INTEGER_VNNI
#include "runner/kernels/integer_bodies.h"
