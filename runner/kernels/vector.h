/* Vector operations of the float kernels. Each level has a vector header (LEVEL_VECTOR), which
 * defines:
 *
 *   VECTOR_LANES           floats of a vector
 *   VECTOR_PIXELS          pixels of a convolution tile, chosen for the register file
 *   VECTOR_PIXELS_ALONE    pixels of a tile that has at most half of the usual vectors of filters
 *   VECTOR_SEGMENTS        blocks of 16 filters that a tile covers: 1 or 2
 *   VECTOR_TAPS            taps that a tile sums at a time
 *   VECTOR_MANY_REGISTERS  1: 32 vector registers, and about as many for addresses
 *   VECTOR_SHORT_RUNS      1: there are special tiles for sums with 4, 8 or 9 taps per run
 *   VECTOR_PAIRS           1: eight lanes can hold two pixels of four floats: vec_load_pair,
 *                          vec_store_pair, and vec_pair_lane(v, lane), which replicates one float
 *                          of each in four lanes
 *   VECTOR_FUSED           1: vec_madd and scalar_madd round once; 0: twice
 *   vec                    the type
 *   vec_load, vec_store, vec_all, vec_add, vec_sub, vec_mul, vec_div, vec_max, vec_min
 *   vec_madd(a, b, c)      a * b + c with the rounding of the level's class
 *   vec_accumulate(&sum, a, b)             sum = vec_madd(a, b, sum)
 *   vec_accumulate_lane(&sum, a, b, lane)  sum = vec_madd(a, x, sum), where all lanes of x are lane
 *                          `lane` of b. Only levels that define VECTOR_BY_LANE have it; conv.h then
 *                          uses it instead of vec_accumulate_broadcast
 *   vec_accumulate_broadcast   adds the products of one input and n vectors of weights to n sums;
 *                          conv.h defines it unless the level has it and defines VECTOR_BROADCASTS
 *   scalar_madd(a, b, c)   vec_madd for one float
 *   vec_load_n, vec_store_n   the first n lanes, n >= 1; others are read as 0 and not written;
 *                          n may exceed the lanes
 *   vec_load_halves, vec_load_bytes, vec_load_nibbles   load 16-bit floats, signed 8-bit integers
 *                          and signed 4-bit integers (of two in a byte, the first is in the lower
 *                          half). A signalling NaN becomes quiet
 *   vec_load_panel(p, n)   loads a vector of a panel that has n filters left: panels are multiples
 *                          of 8 wide, so only wider vectors need a mask
 *
 * Options that are not defined count as 0. vec_max(a, b) is a > b ? a : b, like Darknet's pooling:
 * a NaN in a loses. vec_min(a, b) is a < b ? a : b. Sources are compiled with -ffp-contract=off, so
 * nothing else is fused. Included by bodies.h and finish.h. */
#ifndef MAFAT_RUNNER_KERNELS_VECTOR_H
#define MAFAT_RUNNER_KERNELS_VECTOR_H

#include LEVEL_VECTOR

#ifndef VECTOR_MANY_REGISTERS
#define VECTOR_MANY_REGISTERS 0
#endif

/* vec_max for operands of one sign, or both NaN. A level may define a faster one. */
#ifndef vec_larger
#define vec_larger vec_max
#endif

#define INLINE static inline __attribute__((always_inline))

/* Keeps a value in a register: the compiler may not recompute it. */
#define OPAQUE(x) __asm__("" : "+r"(x))

#endif
