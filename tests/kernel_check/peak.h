/* Loops of independent multiply-adds, which reach a core's peak on each instruction set. Each is
 * compiled with its level's flags. Included by bench.c, peak_body.h and peak_neon.c. */
#ifndef MAFAT_TESTS_KERNEL_CHECK_PEAK_H
#define MAFAT_TESTS_KERNEL_CHECK_PEAK_H

/* Runs `loops` rounds on start[0..1023]. Returns the number of floating-point operations. */
typedef double peak_function(float *start, long loops);

peak_function peak_portable;
#if defined(__x86_64__)
peak_function peak_avx2, peak_avx512;
#endif
#if defined(__arm__) || defined(__aarch64__)
peak_function peak_neon;
#endif

#endif
