/* Arrangements from the bottom up, for many blocks. */
#ifndef MAFAT_PREDICTOR_OFFSETS_SKYLINE_H
#define MAFAT_PREDICTOR_OFFSETS_SKYLINE_H

#include "base/heap.h"
#include "predictor/layout/block.h"

/* Looks for arenas of n blocks that are smaller than *total, until one is not larger than `bound` or the effort, of so many
 * placements, is spent. Where one is found, *total is its size, and offsets are changed. Deterministic. MAFAT_ENOMEM. */
int mafat_offsets_assign_skyline(struct mafat_block *blocks, int n, size_t bound, size_t *total, long placements,
                          struct mafat_heap *heap);

#endif
