/* Constants of kernels and machine that more than one part goes by: what packs weights, what
 * runs, and what predicts how long that takes. One name for each fact. */
#ifndef MAFAT_BASE_TUNING_H
#define MAFAT_BASE_TUNING_H

/* ---- channels and filters ---- */

enum {
  MAFAT_CHANNEL_BLOCK = 16, /* channels stored side by side; unit of summation */
  MAFAT_PANEL = 32,         /* filters in a panel at most */
  MAFAT_SCALED_ROWS = 32,   /* of a panel's weights of four bits share a scale for each filter, at most */
  MAFAT_PANEL_STEP = 8      /* panel widths are multiples of this: zeros fill them up */
};

/* ---- direct convolution ---- */

enum {
  /* Input channels per kernel call where a panel's weights are larger than
   * that: 256 channels x 9 taps x 16 filters stay in a second-level cache. */
  MAFAT_SPLIT_CHANNELS = 256,
  MAFAT_SPLIT_BYTES = 256 << 10,
  MAFAT_SLICE_FLOATS = MAFAT_PANEL * 9 * 128, /* of a panel's weights in one slice of input channels, about */
  /* Inputs and taps of a panel's narrow weights that are widened at a time, or one piece's: 36 KB, which stay in a
   * second-level cache, and mostly in the first. */
  MAFAT_WIDENED_ROWS = 288
};

/* ---- what a step works in ---- */

enum {
  MAFAT_SCRATCH_PIECE = 64,
  MAFAT_SCRATCH_INTEGER_PIECE = 40,
  MAFAT_SCRATCH_POINTERS = 2048,       /* input row pointers per call, where more than one row fits */
  MAFAT_SCRATCH_INPUT_BYTES = 512 << 10, /* input of one call: stays in a second-level cache */
  MAFAT_SCRATCH_INNER_BYTES = 128 << 10, /* rows of a fused depthwise layer */
  MAFAT_SCRATCH_KEPT_BYTES = 24 << 10, /* rows of a depthwise layer in place: in a first-level cache */
  MAFAT_SCRATCH_INNER_INTEGERS = 4 << 10, /* the same of bytes, whose memory is counted in kilobytes; */
  MAFAT_SCRATCH_INNER_MOST = 64 << 10, /* so many, where the whole map that is read is */
  MAFAT_SCRATCH_INNER_SHARE = 2,       /* so many times as large */
  MAFAT_LANES = 16,           /* pixels that are worked on side by side, where they have */
  MAFAT_LANES_CHANNELS = 8192, /* so many channels at most */
  MAFAT_SCRATCH_UNITS = 2              /* pieces of work for each thread, at least, where rows allow: more read the weights again */
};

/* ---- reading weights ---- */

enum {
  MAFAT_FETCH_ALIGNMENT = 4096, /* direct I/O: at most; what a plan costs does not depend on the disk */
  MAFAT_FETCH_BYTES = 144 << 10, /* of one read, wherever the plan leaves a choice */
  MAFAT_FETCH_LEAST_BYTES = 48 << 10, /* of narrow weights it is so much less, but no less than this: from there on a disk goes by bytes */
  MAFAT_FETCH_FILTERS_BYTES = 192 << 10, /* the same of Darknet's filters, which are packed 4 at a time or more */
  MAFAT_RING_READS = 4, /* of that size that the ring holds at least; of larger ones, or of the slices
                           that a step needs together, two */
  MAFAT_READS_DEPTH = 64 /* reads that may be under way */
};

/* ---- kernel levels ---- */

#include "base/levels.def"

/* Behind an arena that holds tensors of bytes: kernels take channels by fours, and may read up to 3 bytes behind the last one's
 * last pixel, whatever they are. The arena's size is a multiple of it. */
enum { MAFAT_READ_BEHIND = 64 };

enum { MAFAT_NARROW_FILTERS = MAFAT_AVX512_LANES / 2 }; /* of a panel, at most, that a level leaves to its FEW */

#endif
