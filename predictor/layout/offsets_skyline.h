/* Assigns offsets from the bottom up (skyline), for many blocks. Called by offsets.c. */
#ifndef MAFAT_PREDICTOR_OFFSETS_SKYLINE_H
#define MAFAT_PREDICTOR_OFFSETS_SKYLINE_H

#include "base/heap.h"
#include "predictor/layout/block.h"

/* Searches for an arena of n blocks smaller than *total. Stops at an arena not larger than `bound`,
 * or after `placements` placements. On success updates *total and the offsets. Deterministic.
 * MAFAT_ENOMEM. */
int mafat_offsets_assign_skyline(struct mafat_block *blocks, int n, size_t bound, size_t *total,
                                 long placements, struct mafat_heap *heap);

#endif
