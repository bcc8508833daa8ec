/* A block: the size and lifetime of a buffer, and the offset that offset assignment (offsets.h)
 * gives it. Used by predictor/layout/. */
#ifndef MAFAT_PREDICTOR_LAYOUT_BLOCK_H
#define MAFAT_PREDICTOR_LAYOUT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_block {
  size_t bytes;
  int first, last; /* first and last time, inclusive; first > last: the block never lives */
  int end_hint;    /* preferred end of the arena; 0: none, 1: bottom, 2: top */
  size_t offset;   /* result, in bytes */
};

/* True if there is a time at which both blocks are alive. */
static inline bool mafat_blocks_meet(const struct mafat_block *a, const struct mafat_block *b)
{
  return a->first <= b->last && b->first <= a->last;
}

#endif
