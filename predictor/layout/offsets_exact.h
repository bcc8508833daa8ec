/* Offset assignment for a few blocks, by branch and bound. Called by offsets.c. */
#ifndef MAFAT_PREDICTOR_LAYOUT_OFFSETS_EXACT_H
#define MAFAT_PREDICTOR_LAYOUT_OFFSETS_EXACT_H

#include "base/heap.h"
#include "predictor/layout/block.h"

enum { MAFAT_FEW_BLOCKS = 80 };

/* Places n <= MAFAT_FEW_BLOCKS blocks; searches for an arena smaller than *total bytes. Stops at an
 * arena of at most `bound` bytes, or after blocks were placed `placements` times. If it finds a
 * smaller arena, updates *total and the blocks' offsets. Working memory comes from `heap`. Returns
 * MAFAT_ENOMEM if out of memory. */
int mafat_offsets_assign_exact(struct mafat_block *blocks, int n, size_t bound, size_t *total,
                               long placements, struct mafat_heap *heap);

#endif
