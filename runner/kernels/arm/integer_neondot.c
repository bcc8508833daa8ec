/* Integer kernels for NEON with dot products of four bytes, which most 64-bit Arm processors since
 * v8.2 have. Compiles integer_bodies.h; listed in base/levels.def and selected by
 * runner/kernels/integer.c. */
#ifdef __aarch64__
#define INTEGER_NAME "neondot"
#define INTEGER_TABLE mafat_integer_neondot
#define INTEGER_VECTOR "runner/kernels/arm/integer_vector_neon.h"
#define INTEGER_DOT
#include "runner/kernels/integer_bodies.h"
#else
typedef int mafat_integer_neondot_is_for_aarch64;
#endif
