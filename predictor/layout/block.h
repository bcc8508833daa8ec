/* A buffer with a lifetime, to be placed in an arena by offsets.h. Used by predictor/layout/. */
#ifndef MAFAT_PREDICTOR_LAYOUT_BLOCK_H
#define MAFAT_PREDICTOR_LAYOUT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_block {
  size_t bytes;
  int first, last; /* first and last time, inclusive */
  int end_hint;    /* 0: anywhere, 1: prefer the bottom, 2: prefer the top */
  size_t offset;   /* result */
};

static inline bool mafat_blocks_meet(const struct mafat_block *a, const struct mafat_block *b)
{
  return a->first <= b->last && b->first <= a->last;
}

#endif
