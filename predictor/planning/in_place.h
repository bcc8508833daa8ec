/* In-place outputs: with /inplace, an output reuses the buffer of an operand that its layer reads
 * for the last time. Kernels read each element before they overwrite it. Depthwise convolutions of
 * stride 1 that keep the map's size first copy the rows that they still need. Called by lay.c and
 * group_order.c.
 *
 * In groups that run each layer once, all maps are whole, so any two of the same shape and type can
 * share a buffer. In tiles, both must hold the same pixels of every tile: the operand has only this
 * reader, and nothing else enlarges its tiles. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_H

#include "predictor/plan/usage.h"

/* Returns the operand's tensor if the layer's output can reuse its buffer, provided that no later
 * layer reads it; else -1. Only for layers with a step of their own, after panel fusions are
 * found. */
int mafat_in_place_candidate(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_usage *usage, int layer, int operand);

/* Fills plan->place_of; only with -1 if `place` is false. Call after the order is found.
 * MAFAT_ENOMEM. */
int mafat_in_place_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
