/* Scratch: working memory of one step. It has a part that all workers (threads) share, followed by
 * one slot for each worker. A layer's record (struct mafat_scratch) has the offsets of arrays in
 * the shared part and in a slot. The record depends only on shapes, the largest box and the number
 * of threads. A pointer counts as 8 bytes even on 32-bit machines, so that a plan needs the same
 * bytes everywhere.
 *
 * Called by predictor/kinds/, layout/, planning/ and schedule/, by search/best/ and by
 * runner/engine/, whose kinds read the records. Nothing is allocated here. */
#ifndef MAFAT_PREDICTOR_SCHEDULE_SCRATCH_H
#define MAFAT_PREDICTOR_SCHEDULE_SCRATCH_H

#include "base/tuning.h"
#include "predictor/plan/plan.h"

/* Offsets are in bytes. An array that a layer does not need has offset 0. */
struct mafat_scratch {
  int n_block_slices;         /* greatest number of block slices (packing.h) of one kernel call */
  int rows_per_call;    /* greatest number of output rows of one kernel call */
  int in_rows;          /* greatest number of input rows of one kernel call */
  /* Arrays in a worker's slot: */
  size_t block_slices_offset; /* n_block_slices records of MAFAT_SCRATCH_BLOCK_SLICE bytes
                                 (integers: MAFAT_SCRATCH_INTEGER_PIECE) */
  size_t in_offset;     /* n_block_slices * in_rows pointers */
  size_t out_offset;    /* 2 * rows_per_call pointers */
  size_t zero_offset;   /* row of zeros, or of zero points: padding above and below */
  size_t zero_elements; /* elements of that row */
  int lanes;            /* number of pixels processed together, one in each SIMD lane */
  size_t pixel_offset;  /* channels of one pixel, or of `lanes` pixels; topk: the greatest elements
                           so far */
  size_t inner_offset;  /* rows_per_call rows of a fused depthwise layer's output */
  size_t inner_row_elements; /* elements from one row at inner_offset to the next; the layout of a
                                row is [block][column][width of the block] */
  int inner_cols;       /* columns of the rows at inner_offset */
  size_t saved_offset;  /* depthwise in place: copies of input rows of a channel block that the
                           output overwrites */
  size_t saved_row_bytes; /* bytes from one row at saved_offset to the next */
  int saved_rows;        /* number of rows at saved_offset: input row y is copied to row y %
                            saved_rows; 0: the layer does not run in place */
  size_t panel_offset;  /* panel of a matmul's second operand, [channel][width] */
  size_t widened_offset; /* narrow weights widened to floats for some input channels of a panel,
                            [block slice][ky][kx][channel][width] */
  size_t widened_floats; /* floats at widened_offset */
  size_t slot_bytes;    /* size of a slot, a multiple of 64 */
  /* For Winograd the shared part has transformed input ("values"), transformed weights ("kernels")
   * and sums. A point is one element of a transformed tile. A step is divided into turns, each of
   * some rows of tiles; the buffers have room for n_turns turns at once. Values and kernels that
   * several workers need are computed once, before they are used: with shared_values those of all
   * tiles, with keep_weights those of all panels. If the layer's steps are panels of filters, a
   * separate step before them computes the values (mafat_plan_transforms). */
  bool shared_values;   /* all values exist at once, computed once a step for all workers */
  int tile_rows;        /* rows of tiles in a turn */
  int n_tiles;          /* greatest number of tiles in a turn */
  int turn_channels;    /* input channels whose transformed weights exist at once */
  bool keep_weights;    /* all transformed weights exist, computed once a step for all workers */
  int n_turns;          /* turns whose buffers exist at once; at most the number of threads */
  int block_slice_channels;   /* channels of the widest block slice; each gets as much space */
  size_t block_slice_padding; /* extra floats for each block slice and point, so that points of a
                                 block are an odd number of cache lines apart */
  size_t values_offset; /* transformed input, [block of block slices][point][tile][channel] */
  size_t values_floats; /* floats of a turn; of all turns if shared */
  size_t kernel_offset; /* transformed weights, [point][channel][width]; if kept, panel by panel */
  size_t kernel_floats; /* floats of a panel; of all panels if kept */
  size_t sums_offset;   /* products before the output transform, [point][tile][width] */
  size_t sums_floats;   /* floats of a panel in a turn */
  /* More arrays in the shared part: */
  size_t boxes_offset;  /* postprocess: corners of each anchor */
  size_t scores_offset; /* postprocess: score of each anchor */
  size_t order_offset;  /* postprocess: index of each anchor */
  size_t kept_offset;   /* postprocess: detections, and detections of one class, 16 bytes each */
  size_t flat_offset;   /* input in Darknet's CHW order, for layers that sum in this order */
  size_t flat_floats;   /* floats at flat_offset */
  size_t shared_bytes;  /* size of the shared part, a multiple of 64 */
};

/* Request to plan the scratch of a layer's steps. A step has at most rows x cols output pixels. */
struct mafat_scratch_request {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  int layer, rows, cols;
  struct mafat_span channels; /* input channels, as in a step */
};

/* The functions below append memory to the slot or to the shared part: they set its offset to
 * slot_bytes or shared_bytes, and add its size, rounded up to 64 bytes. They return false on
 * overflow. */

/* Appends n objects of `size` bytes. part_bytes: the record's slot_bytes or shared_bytes. */
bool mafat_scratch_append(size_t *part_bytes, size_t *offset, size_t n, size_t size);
/* Appends n floats. */
bool mafat_scratch_append_floats(size_t *part_bytes, size_t *offset, size_t n);
/* Appends n elements of a type. */
bool mafat_scratch_append_elements(size_t *part_bytes, size_t *offset, enum mafat_dtype type,
                                   size_t n);
/* Appends the tables that a kernel call needs, for inputs of this type: block slices, and pointers
 * to input and output rows. */
bool mafat_scratch_append_tables(struct mafat_scratch *s, enum mafat_dtype type);
/* Appends memory for widened weights (packing.h: mafat_widened_floats); nothing for 0 floats. */
bool mafat_scratch_append_widened(struct mafat_scratch *s, size_t floats);
/* Appends all channels of the pixels of a row that are processed together; sets s->lanes. */
bool mafat_scratch_plan_lanes(const struct mafat_scratch_request *r, struct mafat_scratch *s);
/* Appends the layer's whole input as floats in Darknet's order. */
bool mafat_scratch_plan_flat(const struct mafat_scratch_request *r, struct mafat_scratch *s);

/* Fills *s for the requested steps. MAFAT_ELIMIT when the bytes overflow. */
int mafat_scratch_plan_step(const struct mafat_scratch_request *r, struct mafat_scratch *s);
/* Fills *s for steps of at most rows x cols output pixels that read all input channels. */
int mafat_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n, int layer,
                       int rows, int cols, struct mafat_scratch *s);

/* Bytes of the shared part and n_workers slots; SIZE_MAX on overflow. */
size_t mafat_scratch_bytes(const struct mafat_scratch *s, int n_workers);

/* Floats from the values of one Winograd point to those of the next point, if a point has `floats`
 * values: an odd number of cache lines. Transforms access all points in turn; at distances of a
 * power of two, the points would share few cache sets (measured: 520 instead of 150 cycles for 36
 * stores). */
static inline size_t mafat_scratch_point_floats(size_t floats)
{
  return ((floats + 15) / 16 | 1) * 16;
}

/* Returns a worker's slot in a step's scratch, which begins at `memory`; NULL if memory is NULL. */
static inline char *mafat_scratch_slot(const struct mafat_scratch *s, char *memory, int worker)
{
  return memory ? memory + s->shared_bytes + (size_t)worker * s->slot_bytes : NULL;
}

#endif
