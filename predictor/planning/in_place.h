/* In-place outputs: with /inplace, a layer's output reuses the buffer of an operand if no later
 * step reads that operand. Kernels read each element before they overwrite it. Depthwise
 * convolutions of stride 1 that keep the map's size copy rows before they overwrite them. Called by
 * lay.c and group_order.c. Fills plan->place_of, allocated from the plan's heap.
 *
 * In groups that run each layer once, all maps are whole, so any two maps of the same shape and
 * type can share a buffer. In tiled groups, output and operand must hold the same pixels of every
 * tile: the output's layer is the operand's only reader, and nothing else enlarges its tiles. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_H

#include "predictor/plan/usage.h"

/* Returns the operand's tensor if the layer's output could reuse its buffer; else -1. Does not look
 * whether later layers still read the tensor: that depends on the order. Only for layers with a
 * step of their own. Call after panel fusions are found. */
int mafat_in_place_candidate(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_usage *usage, int layer, int operand);

/* Fills plan->place_of; if `place` is false, with -1 for all tensors. Call after the order is
 * found. MAFAT_ENOMEM. */
int mafat_in_place_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
