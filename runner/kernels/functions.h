/* Activations and blends that no cfg has and that are no part of a level: plain C, one rounding after the other, so that
 * all levels give the same bits. Kernels leave them to these; their code is resident only for networks that have
 * them (api/surroundings.c). */
#ifndef MAFAT_RUNNER_KERNELS_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_FUNCTIONS_H

#include "runner/kernels/kernels.h"

/* x = f(x), of those from MAFAT_N_KERNEL_ACTIVATIONS on; others leave it as it is. */
void mafat_functions_activate(float *x, size_t n, struct mafat_activating f);

/* y of x and z by the library, of the blends from MAFAT_N_KERNEL_BLENDS on; not activated. */
void mafat_functions_blend(const struct mafat_blend_call *c);

#endif
