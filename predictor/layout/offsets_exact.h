/* The least arena of a few blocks, by branch and bound. */
#ifndef MAFAT_PREDICTOR_LAYOUT_OFFSETS_EXACT_H
#define MAFAT_PREDICTOR_LAYOUT_OFFSETS_EXACT_H

#include "base/heap.h"
#include "predictor/layout/block.h"

enum { MAFAT_FEW_BLOCKS = 80 };

/* Looks for arenas of n of them, at most MAFAT_FEW_BLOCKS, that are smaller than *total, until one is not larger than
 * `bound` or so many placements were tried. Where one is found, *total is its size, and offsets are changed.
 * MAFAT_ENOMEM. */
int mafat_offsets_assign_exact(struct mafat_block *blocks, int n, size_t bound, size_t *total, long placements,
                      struct mafat_heap *heap);

#endif
