/* Returns weights as floats for the kernels and converts narrow ones. For kinds that compute
 * weighted sums, such as convolutions. Uses the
 * step's scratch; allocates nothing. Included by runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H
#define MAFAT_RUNNER_ENGINE_KINDS_WIDENED_H

#include "runner/engine/kinds/kind.h"

/* Like mafat_weights_slice, but narrow weights are widened to floats in the worker's scratch, where
 * they are valid until the next call. At most mafat_widened_channels (predictor/plan/packing.h) at
 * a time. */
int mafat_widened_slice(const struct mafat_worker *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice);

#endif
