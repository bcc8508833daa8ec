/* The kernels as the contract of runner/kernels/kernels.h reads, one scalar after the
 * other: the bits that every level of a class must give. One table per class. */
#ifndef MAFAT_TESTS_KERNELS_KERNEL_REFERENCE_H
#define MAFAT_TESTS_KERNELS_KERNEL_REFERENCE_H

#include "runner/kernels/kernels.h"

extern const struct mafat_kernels mafat_reference_fused; /* a * b + c is fmaf(a, b, c) */
extern const struct mafat_kernels mafat_reference_plain; /* the product is rounded */

static inline const struct mafat_kernels *mafat_reference_of(const struct mafat_kernels *level)
{
  return level->fused ? &mafat_reference_fused : &mafat_reference_plain;
}

#endif
