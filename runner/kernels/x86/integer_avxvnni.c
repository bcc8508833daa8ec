/* Integer kernels for x86-64-v3 with AVX-VNNI: compiles integer_bodies.h. Listed in
 * base/levels.def; selected by runner/kernels/integer.c. */
#define INTEGER_NAME "avxvnni"
#define INTEGER_TABLE mafat_integer_avxvnni
#define INTEGER_VECTOR "runner/kernels/x86/integer_vector_avx2.h"
#define INTEGER_VNNI
#include "runner/kernels/integer_bodies.h"
