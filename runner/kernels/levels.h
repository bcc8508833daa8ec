/* The tables that kernels.c chooses from, one per compiled level. */
#ifndef MAFAT_RUNNER_KERNELS_LEVELS_H
#define MAFAT_RUNNER_KERNELS_LEVELS_H

struct mafat_kernels; /* kernels.h */

extern const struct mafat_kernels mafat_kernels_portable;
extern const struct mafat_kernels mafat_kernels_neon; /* aarch64 and armv7 only */
extern const struct mafat_kernels mafat_kernels_avx2; /* x86-64 only */
extern const struct mafat_kernels mafat_kernels_avx512; /* x86-64 only */

#endif
