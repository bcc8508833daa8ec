/* Placing buffers with lifetimes into one arena: offsets such that buffers
 * alive at the same time do not overlap in space. */
#ifndef MAFAT_PREDICTOR_OFFSETS_H
#define MAFAT_PREDICTOR_OFFSETS_H

#include "base/heap.h"
#include "predictor/layout/block.h"

/* The largest sum of bytes alive at one time: no arrangement can be smaller. */
size_t mafat_offsets_lower_bound(const struct mafat_block *blocks, int n);

/* Sets the offsets by the best of several orders and returns the arena's size.
 * Deterministic. Returns SIZE_MAX when the heap has no memory for working arrays. */
size_t mafat_offsets_assign(struct mafat_block *blocks, int n, struct mafat_heap *heap);

#endif
