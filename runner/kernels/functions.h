/* Activations and blends that only ONNX and TFLite models have, in plain C and compiled once for
 * all kernel levels. Each operation is rounded separately, so results are the same on every machine
 * with the same C library. Their code is resident only for networks that use them
 * (api/footprint.c). Touches nothing but its arguments. Included by activation.h and
 * integer_functions.c. */
#ifndef MAFAT_RUNNER_KERNELS_FUNCTIONS_H
#define MAFAT_RUNNER_KERNELS_FUNCTIONS_H

#include "runner/kernels/kernels.h"

/* Computes x = f(x) for activations numbered MAFAT_N_KERNEL_ACTIVATIONS or above; for others,
 * leaves x unchanged. */
void mafat_functions_activate(float *x, size_t n, struct mafat_activating f);

/* Computes y for blends numbered MAFAT_N_KERNEL_BLENDS or above, without the activation. */
void mafat_functions_blend(const struct mafat_blend_call *c);

#endif
