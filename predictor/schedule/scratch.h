/* Working memory of one step, as one record per layer: a part that all workers
 * share, then a slot for each worker, and where in them what lies. A pure
 * function of shapes, of the largest box and of the number of threads, so that a
 * plan costs the same on every machine: pointers count 8 bytes everywhere. */
#ifndef MAFAT_PREDICTOR_SCHEDULE_SCRATCH_H
#define MAFAT_PREDICTOR_SCHEDULE_SCRATCH_H

#include "base/tuning.h"
#include "predictor/plan/plan.h"

struct mafat_scratch {
  int n_pieces;         /* most pieces a kernel call sees */
  int rows_per_call;    /* output rows that one kernel call computes at most */
  int in_rows;          /* input rows these read */
  /* In a worker's slot: */
  size_t pieces_offset; /* n_pieces records of MAFAT_SCRATCH_PIECE bytes, of whole numbers MAFAT_SCRATCH_INTEGER_PIECE */
  size_t in_offset;     /* n_pieces * in_rows pointers */
  size_t out_offset;    /* 2 * rows_per_call pointers */
  size_t zero_offset;   /* a row of zeros, or of zero points, for the padding above and below */
  size_t zero_elements;
  int lanes;            /* pixels side by side */
  size_t pixel_offset;  /* all channels of one pixel, for the heads, or of so many */
  size_t inner_offset;  /* rows_per_call rows of a fused depthwise layer's output */
  size_t inner_row_elements; /* from one of them to the next: [block][column][width of the block] */
  int inner_cols;       /* columns of such a row */
  size_t saved_offset;  /* depthwise in place: rows of a block of channels that the output is written over, */
  size_t saved_row_bytes; /* from one of them to the next, and */
  int saved_rows;        /* so many: row y is the (y modulo so many)-th; 0: not in place */
  size_t panel_offset;  /* a panel of what is multiplied with, [channel][width] */
  size_t widened_offset; /* narrow weights as floats, some input channels of a panel, [piece][ky][kx][channel][width] */
  size_t widened_floats;
  size_t slot_bytes;    /* multiple of 64 */
  /* Winograd, shared: values, then kernels, then sums, of as many workers as there are units of
   * work in the largest step. Where several would need the same ones, all are made before
   * any is used, and are one for all: values of all tiles (in steps of panels, plan.h:
   * mafat_plan_transforms, those make a step of their own), kernels of all panels. */
  bool shared_values;
  int tile_rows;        /* rows of tiles in a turn */
  int n_tiles;          /* tiles in a turn, at most */
  int turn_channels;    /* input channels whose transformed weights exist at a time */
  bool keep_weights;    /* all of them exist, made once a step, for all workers */
  int n_turns;          /* turns that exist at once; at most the number of threads */
  int piece_channels;   /* of the widest piece: as many have room in each */
  size_t piece_padding; /* floats more for each piece and point, that points of a block may lie apart
                           by an odd number of cache lines */
  size_t values_offset; /* the transformed input, [block of pieces][point][tile][channel] */
  size_t values_floats; /* of a turn; of all that are shared */
  size_t kernel_offset; /* transformed weights, [point][channel][width]; kept ones panel by panel */
  size_t kernel_floats; /* of a panel; of all that are kept */
  size_t sums_offset;   /* products before the output transform, [point][tile][width] */
  size_t sums_floats;   /* of a panel in a turn */
  /* Shared: */
  size_t boxes_offset;  /* postprocess: of each anchor its corners, */
  size_t scores_offset; /* a score, */
  size_t order_offset;  /* a number */
  size_t kept_offset;   /* what is put out, and what one class adds to it, 16 bytes each */
  size_t flat_offset;   /* the input in Darknet's CHW order, for layers that sum in it */
  size_t flat_floats;
  size_t shared_bytes;  /* multiple of 64 */
};

/* For kinds of layers: steps of at most rows x cols output pixels of a layer, made from those channels of its input. */
struct mafat_scratch_request {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  int layer, rows, cols;
  struct mafat_span channels; /* as steps count them */
};

/* Appends n objects of `size` bytes to a part of the scratch, aligned to 64;
 * false on overflow. */
bool mafat_scratch_append(size_t *part_bytes, size_t *offset, size_t n, size_t size);
/* The same of floats, which kernels sum in whatever the types of tensors. */
bool mafat_scratch_append_floats(size_t *part_bytes, size_t *offset, size_t n);
/* The same of a type's elements. */
bool mafat_scratch_append_elements(size_t *part_bytes, size_t *offset, enum mafat_dtype type, size_t n);
/* What a kernel call that reads elements of that type has its arguments in: pieces, row pointers. */
bool mafat_scratch_append_tables(struct mafat_scratch *s, enum mafat_dtype type);
/* Where narrow weights are floats (packing.h: mafat_widened_floats); none where there are none. */
bool mafat_scratch_append_widened(struct mafat_scratch *s, size_t floats);
/* All channels of some pixels of a row, which are worked on together. */
bool mafat_scratch_plan_lanes(const struct mafat_scratch_request *r, struct mafat_scratch *s);
/* The layer's whole input, in Darknet's order: all that some kinds need. */
bool mafat_scratch_plan_flat(const struct mafat_scratch_request *r, struct mafat_scratch *s);

/* Returns MAFAT_ELIMIT when the bytes overflow. */
int mafat_scratch_plan_step(const struct mafat_scratch_request *r, struct mafat_scratch *s);
/* The same for steps of at most rows x cols output pixels of a layer, from all channels. */
int mafat_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n, int layer,
                       int rows, int cols, struct mafat_scratch *s);

/* Bytes for n workers; SIZE_MAX on overflow. */
size_t mafat_scratch_bytes(const struct mafat_scratch *s, int n_workers);

/* Floats from one of Winograd's points to the next where a point has `floats`
 * values: an odd number of cache lines. The transforms touch all 36 points in
 * turn, and at a power of two apart these would share a few sets of the cache
 * (measured: 520 cycles for 36 stores instead of 150). */
static inline size_t mafat_scratch_point_floats(size_t floats)
{
  return ((floats + 15) / 16 | 1) * 16;
}

/* A worker's slot in a step's scratch memory (NULL stays NULL). */
static inline char *mafat_scratch_slot(const struct mafat_scratch *s, char *memory, int worker)
{
  return memory ? memory + s->shared_bytes + (size_t)worker * s->slot_bytes : NULL;
}

#endif
