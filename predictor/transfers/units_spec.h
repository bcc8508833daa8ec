/* The plan whose steps compute the layers of units together (transfers.h):
 *
 *   alone             whole maps; a depthwise layer by itself: 1x1:dw0
 *   dw-pw rows        whole maps, FD rows of the depthwise layer at a time inside the 1x1: 1x1:dwFD
 *   pw-dw rows,       a group of rows, of as many a step as a window of FD rows of the first output gives in turn: rowsN
 *   bottleneck rows
 *   pw-dw channels    a group in parts of FD channels or fewer, in blocks of 16: split(cN:layers)
 *
 * What are whole maps side by side is one group. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H
#define MAFAT_PREDICTOR_TRANSFERS_UNITS_SPEC_H

#include "predictor/plan/spec.h"
#include "predictor/transfers/transfers.h"

/* Is there a plan that computes the unit so? */
bool mafat_unit_has_plan(const struct mafat_network *n, const struct mafat_unit *u);

/* A price (transfers.h), whose context is the network: bytes that a unit moves, where it fits and a plan computes it. */
double mafat_unit_bytes(const void *network, const struct mafat_unit *u);

/* Units in the order of their last layers, which have all layers that compute something, each once, and FD in `extent`. The spec
 * lies in that heap. MAFAT_ENOMEM. */
int mafat_units_spec(struct mafat_spec **out, const struct mafat_network *n, int n_layers, const struct mafat_unit *units, int n_units,
                     struct mafat_heap *heap);

#endif
