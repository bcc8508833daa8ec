/* Loops of multiply-adds that wait for nothing: a core's peak, by instruction
 * set. Each is compiled with its level's flags. */
#ifndef MAFAT_TESTS_KERNEL_CHECK_PEAK_H
#define MAFAT_TESTS_KERNEL_CHECK_PEAK_H

/* Runs `loops` rounds on start[0 ... 1023]; returns the floating-point operations done. */
typedef double peak_function(float *start, long loops);

peak_function peak_portable;
#if defined(__x86_64__)
peak_function peak_avx2, peak_avx512;
#endif
#if defined(__arm__) || defined(__aarch64__)
peak_function peak_neon;
#endif

#endif
