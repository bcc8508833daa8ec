/* Constants that the packing of weights, the kernels and the predictions share. Included by base/,
 * formats/, predictor/, runner/ and search/. Declares types and constants only. */
#ifndef MAFAT_BASE_TUNING_H
#define MAFAT_BASE_TUNING_H

/* ---- channels and filters ---- */

enum {
  MAFAT_CHANNEL_BLOCK = 16, /* contiguous channels; unit of summation */
  MAFAT_PANEL = 32,         /* most filters in a panel */
  MAFAT_SCALED_ROWS = 32, /* most rows of a panel's 4-bit weights that share one scale per filter */
  MAFAT_PANEL_STEP = 8      /* panel widths are multiples of this, padded with zeros */
};

/* ---- direct convolution ---- */

enum {
  /* Input channels per kernel call for panels whose weights are larger than MAFAT_SPLIT_BYTES: 256
   * channels x 9 taps x 16 filters fit a second-level cache. */
  MAFAT_SPLIT_CHANNELS = 256,
  MAFAT_SPLIT_BYTES = 256 << 10,
  /* approximate floats of a panel's weights in one slice of input channels */
  MAFAT_SLICE_FLOATS = MAFAT_PANEL * 9 * 128,
  /* Input channels x taps of a panel's narrow weights (4, 8 or 16 bits) that are widened to floats
   * at a time. These 36 KB fit a second-level cache, and mostly a first-level one. */
  MAFAT_WIDENED_ROWS = 288
};

/* ---- scratch of a step ---- */

enum {
  MAFAT_SCRATCH_BLOCK_SLICE = 64, /* bytes of the record of a channel block */
  MAFAT_SCRATCH_INTEGER_PIECE = 40, /* bytes of a channel block's record in quantized layers */
  MAFAT_SCRATCH_POINTERS = 2048, /* most input row pointers per call, if it covers several rows */
  MAFAT_SCRATCH_INPUT_BYTES = 512 << 10, /* input of one call: fits a second-level cache */
  MAFAT_SCRATCH_INNER_BYTES = 128 << 10, /* rows of a fused depthwise layer */
  /* rows of a depthwise layer that works in place: fit a first-level cache */
  MAFAT_SCRATCH_KEPT_BYTES = 24 << 10,
  /* Rows of a fused depthwise layer that is quantized: the input map's bytes divided by SHARE,
   * clamped to INTEGERS..MOST bytes. */
  MAFAT_SCRATCH_INNER_INTEGERS = 4 << 10,
  MAFAT_SCRATCH_INNER_MOST = 64 << 10,
  MAFAT_SCRATCH_INNER_SHARE = 2,
  MAFAT_LANES = 16,            /* pixels that normalize and reduce layers process together if */
  MAFAT_LANES_CHANNELS = 8192, /* a pixel has at most this many channels */
  /* minimum work items per thread in a step, if the map has enough rows; with more items, the
   * weights would be read more often */
  MAFAT_SCRATCH_UNITS = 2
};

/* ---- reading weights ---- */

enum {
  /* largest alignment that direct I/O requires; used for all disks, so that a plan's cost does not
   * depend on the disk */
  MAFAT_FETCH_ALIGNMENT = 4096,
  MAFAT_FETCH_BYTES = 144 << 10, /* one read, unless the plan requires another size */
  /* lower bound for reads of narrow weights, which are smaller in proportion: above it, time is
   * proportional to bytes */
  MAFAT_FETCH_LEAST_BYTES = 48 << 10,
  /* one read of Darknet's filters, which are packed at least 4 at a time */
  MAFAT_FETCH_FILTERS_BYTES = 192 << 10,
  /* minimum number of reads of MAFAT_FETCH_BYTES in the ring; two if reads are larger, or if a step
   * needs several slices together */
  MAFAT_RING_READS = 4,
  MAFAT_READS_DEPTH = 64 /* most reads in flight */
};

/* ---- kernel levels ---- */

#include "base/levels.def"

/* Spare bytes past the end of an arena with 8-bit tensors. Kernels read channels by fours, so they
 * read up to 3 bytes past the last channel of the last pixel, and ignore their values. The arena's
 * size is a multiple of this. */
enum { MAFAT_READ_BEHIND = 64 };

/* A kernel level leaves panels of at most this many filters to its FEW level (base/levels.def). */
enum { MAFAT_NARROW_FILTERS = MAFAT_AVX512_LANES / 2 };

#endif
