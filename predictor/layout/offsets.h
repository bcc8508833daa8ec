/* Offset assignment: gives buffers with lifetimes offsets in one arena, as small as possible, so
 * that buffers alive at the same time do not overlap. Called by maker.c. */
#ifndef MAFAT_PREDICTOR_OFFSETS_H
#define MAFAT_PREDICTOR_OFFSETS_H

#include "base/heap.h"
#include "predictor/layout/block.h"

/* Largest sum of bytes alive at one time: no arena can be smaller. */
size_t mafat_offsets_lower_bound(const struct mafat_block *blocks, int n);

/* Sets the offsets of n blocks and returns the arena's size in bytes. Deterministic. SIZE_MAX: out
 * of memory for working arrays, which come from `heap`. */
size_t mafat_offsets_assign(struct mafat_block *blocks, int n, struct mafat_heap *heap);

#endif
