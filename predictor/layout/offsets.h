/* Offset assignment: places buffers, whose lifetimes are known, in one arena. Buffers that are
 * alive at the same time do not overlap, and the arena is as small as possible. Called by maker.c.
 * Working arrays come from the given heap and are freed before the function returns. */
#ifndef MAFAT_PREDICTOR_OFFSETS_H
#define MAFAT_PREDICTOR_OFFSETS_H

#include "base/heap.h"
#include "predictor/layout/block.h"

/* Returns the largest sum of the bytes of blocks alive at one time: no arena can be smaller. */
size_t mafat_offsets_lower_bound(const struct mafat_block *blocks, int n);

/* Sets the offsets of n blocks and returns the arena's size in bytes. Deterministic. Returns
 * SIZE_MAX if out of memory for working arrays. */
size_t mafat_offsets_assign(struct mafat_block *blocks, int n, struct mafat_heap *heap);

#endif
