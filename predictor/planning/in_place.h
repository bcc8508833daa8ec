/* Outputs that take the place of what their layer reads for the last time, where the plan has the word /inplace: both
 * tensors are one buffer, one behind the other. The layer's kernels read each element before they write what lies there;
 * depthwise convolutions of stride 1 that keep a map's size copy a few rows of a block of channels ahead.
 *
 * In groups that run each layer once all maps are whole, and each of the same shape and type can give its place. In
 * tiles those do that hold the same pixels in every one: what a single layer reads, and nothing but that makes it larger. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_H

#include "predictor/plan/usage.h"

/* The tensor that an operand of the layer is, if the output can take its place where nobody reads it afterwards; else -1.
 * For layers with a step of their own, once panel fusions are found. */
int mafat_in_place_candidate(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_usage *usage, int layer, int operand);

/* Fills plan->place_of; with `place` false, with nothing. Once the order is found. MAFAT_ENOMEM. */
int mafat_in_place_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
