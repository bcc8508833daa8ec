/* Activations and blends that only ONNX and TFLite models have, in plain C and compiled once for
 * all kernel levels. Each operation is rounded separately, so results are the same on every machine
 * with the same C library. Their code is resident only for networks that use them
 * (api/footprint.c). Touches nothing but its arguments. Included by activation.h and
 * integer_functions.c. */
#ifndef MAFAT_RUNNER_KERNELS_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_FUNCTIONS_H

#include "runner/kernels/kernels.h"

/* x = f(x) for activations from MAFAT_N_KERNEL_ACTIVATIONS on; for others, x is unchanged. */
void mafat_functions_activate(float *x, size_t n, struct mafat_activating f);

/* Computes y for blends from MAFAT_N_KERNEL_BLENDS on, without the activation. */
void mafat_functions_blend(const struct mafat_blend_call *c);

#endif
