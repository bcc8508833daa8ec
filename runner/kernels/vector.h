/* The few vector operations that the kernels are written on. A level's file
 * names its vector header (LEVEL_VECTOR), which defines
 *
 *   VECTOR_LANES   floats in a vector
 *   VECTOR_PIXELS  pixels of a convolution tile, chosen for the register file
 *   VECTOR_PIXELS_ALONE  the same of tiles of half the vectors, or fewer
 *   VECTOR_SEGMENTS  runs of 16 filters that a tile covers: 1 or 2
 *   VECTOR_TAPS    taps that such a tile sums at a time
 *   VECTOR_MANY_REGISTERS  1 (else 0 or undefined): 32 for vectors, and about as many for addresses
 *   VECTOR_SHORT_RUNS  1 (else 0 or undefined): sums of 4, 8 or 9 taps a run have tiles of their own
 *   VECTOR_PAIRS   1 (else 0 or undefined): eight lanes, where two pixels of four floats are a vector:
 *                  vec_load_pair, vec_store_pair, and vec_pair_lane(v, lane), which has one float of each in four lanes
 *   VECTOR_FUSED   1: vec_madd and scalar_madd round once, 0: twice
 *   vec            the type
 *   vec_load, vec_store, vec_all, vec_add, vec_sub, vec_mul, vec_div, vec_max,
 *   vec_min
 *   vec_madd(a, b, c)     a * b + c, the one multiply-add of the level's class
 *   vec_accumulate(&sum, a, b)  sum = vec_madd(a, b, sum)
 *   vec_accumulate_lane(&sum, a, b, lane)  sum = vec_madd(a, b's lane in all, sum):
 *                         only where VECTOR_BY_LANE is defined, and conv.h prefers it
 *   vec_accumulate_broadcast  where VECTOR_BROADCASTS is defined; else conv.h has it
 *   scalar_madd(a, b, c)  the same for one float
 *   vec_load_n, vec_store_n  the first n lanes, 1 <= n; others read as 0 and
 *                            are not touched in memory; n may exceed the lanes
 *   vec_load_halves, vec_load_bytes, vec_load_nibbles  the same of numbers of 16 bits, floats; of 8 and 4 bits,
 *                            signed, of which the first of two lies in a byte's lower half. A signalling NaN
 *                            becomes a quiet one
 *   vec_load_panel(p, n)  a vector of a panel that has n more filters: panels
 *                         are 8 wide or a multiple of it, so only wider vectors mask
 *
 * vec_max(a, b) is a > b ? a : b, as Darknet's pooling compares: a NaN in a
 * loses; vec_min(a, b) is a < b ? a : b. Sources are compiled with -ffp-contract=off: nothing else fuses. */
#ifndef MAFAT_RUNNER_KERNELS_VECTOR_H
#define MAFAT_RUNNER_KERNELS_VECTOR_H

#include LEVEL_VECTOR

#ifndef VECTOR_MANY_REGISTERS
#define VECTOR_MANY_REGISTERS 0
#endif

/* vec_max of two that are of one sign, or both NaN: zeros and NaNs need no care */
#ifndef vec_larger
#define vec_larger vec_max
#endif

#define INLINE static inline __attribute__((always_inline))

/* Keeps a value in a register: the compiler may not recompute it from others. */
#define OPAQUE(x) __asm__("" : "+r"(x))

#endif
