/* Reference kernels: the contract of runner/kernels/kernels.h in scalar code. There is one table
 * per class, and every instruction-set level of the class must compute the same bits. Included by
 * kernel_check and unit tests. */
#ifndef MAFAT_TESTS_KERNELS_KERNEL_REFERENCE_H
#define MAFAT_TESTS_KERNELS_KERNEL_REFERENCE_H

#include "runner/kernels/kernels.h"

extern const struct mafat_kernels mafat_reference_fused; /* a * b + c is fmaf(a, b, c) */
extern const struct mafat_kernels mafat_reference_plain; /* product and sum are both rounded */

static inline const struct mafat_kernels *mafat_reference_of(const struct mafat_kernels *level)
{
  return level->fused ? &mafat_reference_fused : &mafat_reference_plain;
}

#endif
