/* Makes a spec whose plan computes the layers of each unit (transfers.h) together:
 *
 *   alone             whole maps; a depthwise layer by itself: 1x1:dw0
 *   dw-pw rows        whole maps; E rows of the depthwise layer at a time inside the 1x1: 1x1:dwE
 *   pw-dw rows,       a group by rows: rowsN. A step has as many rows as a window of E rows of the
 *   bottleneck rows   first output gives
 *   pw-dw channels    a group in parts of about E channels, in blocks of 16: split(cN:layers)
 *
 * E is the unit's extent. Consecutive units in whole maps form one group. Called by prices.c and
 * search/separable/separable.c. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H
#define MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H

#include "predictor/plan/spec.h"
#include "predictor/transfers/transfers.h"

/* True if there is such a plan for the unit. */
bool mafat_unit_has_plan(const struct mafat_network *n, const struct mafat_unit *u);

/* Price function (transfers.h) with the network as context: bytes that a unit copies; INFINITY if
 * it does not fit or no plan computes it. */
double mafat_unit_bytes(const void *network, const struct mafat_unit *u);

/* Makes the spec, in `heap`. The units are in order of their last layers; each layer that computes
 * something is in one of them. MAFAT_ENOMEM. */
int mafat_units_spec(struct mafat_spec **out, const struct mafat_network *n, int n_layers,
                     const struct mafat_unit *units, int n_units, struct mafat_heap *heap);

#endif
