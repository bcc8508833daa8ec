/* Activations and blends that only graph models have, in plain C outside the kernel levels. Each
 * operation is rounded, so all levels give the same bits. Their code is resident only for networks
 * that use them (api/footprint.c). Included by activation.h and integer_functions.c. */
#ifndef MAFAT_RUNNER_KERNELS_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_FUNCTIONS_H

#include "runner/kernels/kernels.h"

/* x = f(x) for activations from MAFAT_N_KERNEL_ACTIVATIONS on; others leave x unchanged. */
void mafat_functions_activate(float *x, size_t n, struct mafat_activating f);

/* y from x and z for blends from MAFAT_N_KERNEL_BLENDS on, without the activation. */
void mafat_functions_blend(const struct mafat_blend_call *c);

#endif
