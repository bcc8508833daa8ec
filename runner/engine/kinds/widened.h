/* Weights as floats for the kernels, whatever their type and storage. Internal to the kinds that
 * sum. Uses the step's scratch; allocates nothing. Included by runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H
#define MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H

#include "runner/engine/kinds/kind.h"

/* Like mafat_weights_slice, but narrow weights are widened into the worker's slot and stay valid
 * until the next call. At most as many channels as fit there (predictor/plan/packing.h:
 * mafat_widened_channels). */
int mafat_widened_slice(const struct mafat_worker *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice);

#endif
