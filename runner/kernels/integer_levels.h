/* The tables that integer.c chooses from, one per compiled level. */
#ifndef MAFAT_RUNNER_KERNELS_INTEGER_LEVELS_H
#define MAFAT_RUNNER_KERNELS_INTEGER_LEVELS_H

struct mafat_integer_kernels; /* integer.h */

extern const struct mafat_integer_kernels mafat_integer_portable;
extern const struct mafat_integer_kernels mafat_integer_neon, mafat_integer_neondot; /* aarch64 and armv7; aarch64 only */
extern const struct mafat_integer_kernels mafat_integer_avx2, mafat_integer_avxvnni, mafat_integer_avx512,
    mafat_integer_avx512vnni; /* x86-64 only */

#endif
