/* Makes the plan whose steps compute the layers of units together (transfers.h):
 *
 *   alone             whole maps; a depthwise layer by itself: 1x1:dw0
 *   dw-pw rows        whole maps; FD rows of the depthwise layer at a time inside the 1x1: 1x1:dwFD
 *   pw-dw rows,       a group of rows, as many in a step as a window of FD rows of the first output
 *   bottleneck rows   yields: rowsN
 *   pw-dw channels    a group in parts of at most FD channels, in blocks of 16: split(cN:layers)
 *
 * Consecutive whole maps form one group. Called by prices.c and search/separable/separable.c. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H
#define MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H

#include "predictor/plan/spec.h"
#include "predictor/transfers/transfers.h"

/* True if a plan computes the unit in this way. */
bool mafat_unit_has_plan(const struct mafat_network *n, const struct mafat_unit *u);

/* Price function (transfers.h) with the network as context: bytes that a unit moves, if it fits and
 * a plan computes it. */
double mafat_unit_bytes(const void *network, const struct mafat_unit *u);

/* Makes the spec for units in order of their last layers, with FD in `extent`. They contain all
 * computing layers, each once. The spec is in `heap`. MAFAT_ENOMEM. */
int mafat_units_spec(struct mafat_spec **out, const struct mafat_network *n, int n_layers,
                     const struct mafat_unit *units, int n_units, struct mafat_heap *heap);

#endif
