/* In-place outputs: if a plan's text ends in /inplace, a layer's output reuses the buffer of an
 * operand that no later step reads. Kernels read each element before they overwrite it. Depthwise
 * convolutions of stride 1 that keep the map's size copy rows before they overwrite them. Called by
 * lay.c and group_order.c. Fills plan->place_of ([tensor]: tensor whose buffer it reuses), which is
 * allocated from the plan's heap.
 *
 * In groups that run each layer once, all maps are whole, so any two maps of the same shape and
 * type can share a buffer. In tiled groups, output and operand must hold the same pixels of every
 * tile: the output's layer is the operand's only reader, and nothing else enlarges its tiles. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_H

#include "predictor/plan/usage.h"

/* Returns the operand's tensor if the layer's output could reuse its buffer; else -1. Does not
 * check whether later layers still read the tensor, which depends on the execution order. Only for
 * layers that are not fused into another layer's step. Call after panel fusions are found. */
int mafat_in_place_candidate(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_usage *usage, int layer, int operand);

/* Fills plan->place_of; if `place` is false, with -1 (no reuse) for all tensors. Call after the
 * execution order is found. MAFAT_ENOMEM. */
int mafat_in_place_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
