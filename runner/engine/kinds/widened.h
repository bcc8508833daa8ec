/* Weights as the kernels take them: floats, wherever they lie and whatever their type. Internal to the kinds that sum. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H
#define MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H

#include "runner/engine/kinds/kind.h"

/* As mafat_weights_slice; narrow ones are widened into the worker's slot, so that they are valid until the next call.
 * As many channels as there is room for there (predictor/plan/packing.h: mafat_widened_channels). */
int mafat_widened_slice(const struct mafat_worker *w, int layer, struct mafat_span filters, struct mafat_span channels,
                        struct mafat_weights_slice *slice);

#endif
