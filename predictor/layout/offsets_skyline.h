/* Offset assignment for many blocks, from the bottom up (skyline). Called by offsets.c. */
#ifndef MAFAT_PREDICTOR_OFFSETS_SKYLINE_H
#define MAFAT_PREDICTOR_OFFSETS_SKYLINE_H

#include "base/heap.h"
#include "predictor/layout/block.h"

/* Places n blocks; searches for an arena smaller than *total bytes. Stops at an arena of at most
 * `bound` bytes, or after blocks were placed about `placements` times. If it finds a smaller arena,
 * updates *total and the blocks' offsets. Deterministic. Working memory comes from `heap`. Returns
 * MAFAT_ENOMEM if out of memory. */
int mafat_offsets_assign_skyline(struct mafat_block *blocks, int n, size_t bound, size_t *total,
                                 long placements, struct mafat_heap *heap);

#endif
