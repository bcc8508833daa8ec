/* Integer kernels for NEON with sums of four products, which 64-bit Arm has from v8.2 on, most of the time. */
#ifdef __aarch64__
#define INTEGER_NAME "neondot"
#define INTEGER_TABLE mafat_integer_neondot
#define INTEGER_VECTOR "runner/kernels/arm/integer_vector_neon.h"
#define INTEGER_DOT
#include "runner/kernels/integer_bodies.h"
#else
typedef int mafat_integer_neondot_is_for_aarch64;
#endif
