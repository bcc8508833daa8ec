/* Assigns offsets in one arena to buffers with lifetimes. Buffers that are alive at the same time
 * do not overlap. Called by maker.c. */
#ifndef MAFAT_PREDICTOR_OFFSETS_H
#define MAFAT_PREDICTOR_OFFSETS_H

#include "base/heap.h"
#include "predictor/layout/block.h"

/* Largest sum of bytes alive at one time: no arena can be smaller. */
size_t mafat_offsets_lower_bound(const struct mafat_block *blocks, int n);

/* Assigns offsets by the best of several orders; returns the arena's size. Deterministic. Returns
 * SIZE_MAX if the heap has no memory for working arrays. */
size_t mafat_offsets_assign(struct mafat_block *blocks, int n, struct mafat_heap *heap);

#endif
