/* Sizes of channel blocks, and small integer arithmetic. A tensor is stored in blocks of 16
 * channels. The last block has only the remaining channels: 1 to 3, or more rounded up to a
 * multiple of 4. An image of 3 channels therefore costs 3 elements per pixel. Included by api/,
 * formats/, network/, predictor/, runner/, search/ and transform/. Pure inline functions. */
#ifndef MAFAT_BASE_BLOCKS_H
#define MAFAT_BASE_BLOCKS_H

#include "base/tuning.h"

static inline int mafat_min(int a, int b)
{
  return a < b ? a : b;
}

static inline int mafat_max(int a, int b)
{
  return a > b ? a : b;
}

static inline int mafat_divide_up(int n, int by)
{
  return (n + by - 1) / by;
}

static inline int mafat_round_up(int n, int step)
{
  return (n + step - 1) / step * step;
}

static inline int mafat_n_blocks(int channels)
{
  return (channels + MAFAT_CHANNEL_BLOCK - 1) / MAFAT_CHANNEL_BLOCK;
}

/* Elements per pixel in block number `block`; the same for all element types. */
static inline int mafat_block_width(int channels, int block)
{
  int n = mafat_min(channels - block * MAFAT_CHANNEL_BLOCK, MAFAT_CHANNEL_BLOCK);
  return n < 4 ? n : mafat_round_up(n, 4);
}

#endif
