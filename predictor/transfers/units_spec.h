/* Makes a spec whose plan computes the layers of each unit (transfers.h) together. Called by
 * prices.c, search/separable and experiments/separable. Allocates the spec from the given heap. The
 * spec depends on how the unit is fused (`how`, here by its name in tables). dw is a depthwise and
 * pw a 1x1 convolution; E is the unit's extent:
 *
 *   alone             whole maps; a depthwise layer gets a step of its own: 1x1:dw0
 *   dw-pw rows        whole maps; E rows of the depthwise layer at a time inside the 1x1: 1x1:dwE
 *   pw-dw rows,       a group by rows: rowsN. N is the number of depthwise rows that can be
 *   bottleneck rows   computed from E rows of the first layer's output
 *   pw-dw channels    a group in parts of about E channels, in blocks of 16: split(cN:layers)
 *
 * Consecutive units of the first two kinds form one group. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H
#define MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H

#include "predictor/plan/spec.h"
#include "predictor/transfers/transfers.h"

/* True if a plan can compute the unit's layers together. */
bool mafat_unit_has_plan(const struct mafat_network *n, const struct mafat_unit *u);

/* Price function (transfers.h) with the network as context: bytes that a unit copies; INFINITY if
 * it does not fit or no plan computes it. */
double mafat_unit_bytes(const void *network, const struct mafat_unit *u);

/* Makes the spec, in `heap`. The units must be sorted by mafat_units_sort, and each layer that
 * computes something must be in one of them. MAFAT_ENOMEM. */
int mafat_units_spec(struct mafat_spec **out, const struct mafat_network *n, int n_layers,
                     const struct mafat_unit *units, int n_units, struct mafat_heap *heap);

#endif
