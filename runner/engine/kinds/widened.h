/* Gets weights for kernels that need floats, and converts those of narrower types. Used by layers
 * that compute weighted sums, such as convolutions. Reads weights through runner/weights, writes
 * the worker's scratch, and allocates nothing. Included by files of runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H
#define MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H

#include "runner/engine/kinds/kind.h"

/* Does what mafat_weights_slice does, and converts weights of a narrower type to floats in the
 * worker's scratch, where they are valid until the next call. `channels` are then at most
 * mafat_widened_channels (predictor/plan/packing.h). */
int mafat_widened_slice(const struct mafat_worker *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice);

#endif
