/* Integer kernels in plain C: compiles integer_bodies.h for the portable level. Used through the
 * table in runner/kernels/integer.c. */
#define INTEGER_SMALL
#define INTEGER_NAME "portable"
#define INTEGER_TABLE mafat_integer_portable
#define INTEGER_VECTOR "runner/kernels/integer_vector_portable.h"
#include "runner/kernels/integer_bodies.h"
