/* Functions shared by convolutions and connected layers, of floats and of integers: they fill
 * tables of row pointers for kernel calls, and divide a step into units. Defined in conv.c and
 * conv_depthwise.c. The tables are in the worker's scratch, in the arena. Allocates nothing.
 * Included by conv*.c and dense.c of this folder and by integer/conv.c. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_CONV_H
#define MAFAT_RUNNER_ENGINE_KINDS_CONV_H

#include "runner/engine/kinds/kind.h"

#include <string.h>

/* A block of rows. The convolution's outputs are called sums. If a maxpool is fused, two rows of
 * sums give one row of the step's output. */
struct mafat_conv_block {
  struct mafat_span sums; /* rows of the convolution's output */
  int out_y;              /* first row in the step's output */
};

/* Units of work of a step: blocks of rows times panels or groups. */
struct mafat_conv_units {
  int n;                  /* units (panels or groups) of each block */
  int n_blocks, n_lines;  /* a line is a row of sums, or two rows if a maxpool is fused */
  int parts;              /* parts into which the last unit of a worker's share is divided */
  bool alone;             /* there is a single worker, which uses the fields below */
  int next, next_block;   /* next unit of `block`; number of the block after it */
  struct mafat_conv_block block;
};

/* One convolution step on one worker. If the step's layer is a maxpool or a shortcut, the
 * convolution is fused into it. With a maxpool, all rows and columns are those of the convolution's
 * output, except for `out_rows`. */
struct mafat_conv {
  const struct mafat_worker *worker;
  const struct mafat_step *step;
  const struct mafat_layer *layer; /* convolution that reads the input */
  int index;                       /* number of that layer */
  int pointwise;                   /* number of the 1x1 convolution into which the depthwise `layer`
                                      is fused; -1: none */
  const struct mafat_layer *shortcut; /* fused shortcut, added to stored outputs; NULL: none */
  bool pool;                       /* a fused maxpool stores the maximum of each 2 x 2 */
  struct mafat_box box;            /* box of the sums */
  struct mafat_span in_y;          /* rows that the input has; rows above and below are zeros */
  struct mafat_conv_block_slice *block_slices; /* [n_block_slices]: arguments for kernels */
  struct mafat_block_slice *references;  /* [n_block_slices]: channels in the input tensors */
  const float **in_rows;           /* [block slice][scratch.in_rows] */
  float **out_rows;                /* [segment][scratch.rows_per_call] */
  float *zeros;                    /* row of zeros: stands for rows outside the input */
  int n_block_slices;
  struct mafat_conv_units units;
  struct mafat_conv_outputs {
    int filter;
    struct mafat_span rows;
  } outputs;                       /* filter and rows at which the first segment's out_rows point;
                                      no rows: nowhere yet */
};

/* Initializes all fields but `units` and the pointers to tables and zeros; sets `pool` to false. */
void mafat_conv_begin(struct mafat_conv *c, const struct mafat_worker *w,
                      const struct mafat_step *step);

/* Initializes all fields but `units`. Points the tables at the worker's scratch, and fills the row
 * `zeros` if it is read. */
void mafat_conv_open(struct mafat_conv *c, const struct mafat_worker *w,
                     const struct mafat_step *step);

/* Sets `references` and `n_block_slices` to the block slices of these input channels. */
void mafat_conv_list_block_slices(struct mafat_conv *c, struct mafat_span channels);

/* Sets rows[0] to rows[n - 1] to the addresses of n input rows of a block slice, from row `first`
 * on, at input column `x`; for rows outside the input, to c->zeros. */
void mafat_conv_point_at_rows(const struct mafat_conv *c,
                              const struct mafat_block_slice *block_slice, int first, int n, int x,
                              const float **rows);

/* Fills `segments`, where a kernel call stores a panel's filters in rows [y0, y0 + n) of the step's
 * output: one for each channel block. Returns their number. */
int mafat_conv_point_at_output(struct mafat_conv *c, struct mafat_span filters, int y0, int n,
                               struct mafat_conv_segment segments[2]);

static inline struct mafat_block_slice mafat_conv_block_slice_of(const struct mafat_run *run)
{
  return (struct mafat_block_slice){run->tensor, run->block, run->lane, run->n, 0, run->source};
}

/* ---- tables of row pointers, any type ---- */

/* Copies n pointers and adds `bytes` to each, except to those equal to `still`. */
static inline void mafat_conv_move_rows(void *to, const void *from, int n, ptrdiff_t bytes,
                                        const void *still)
{
  for (int r = 0; r < n; r++) {
    char *row;
    memcpy(&row, (const char *)from + (size_t)r * sizeof row, sizeof row);
    if (row != still) row += bytes;
    memcpy((char *)to + (size_t)r * sizeof row, &row, sizeof row);
  }
}

/* Sets *bytes to the distance from each row of block slice `last` to the same row of `block_slice`.
 * False: the distance is not the same for all rows. */
bool mafat_conv_block_slices_apart(const struct mafat_conv *c,
                                   const struct mafat_block_slice *block_slice,
                                   const struct mafat_block_slice *last, ptrdiff_t *bytes);

/* Fills `to` with pointers to `rows` of the step's output, at a filter. `first` is the first
 * segment's out_rows, which `outputs` describes; if `to` is the same table, updates `outputs`. */
void mafat_conv_point_at_filter(struct mafat_conv *c, int filter, struct mafat_span rows,
                                const void *first, void *to);

/* If a shortcut is fused: adds its second operand to these filters of output rows [y0, y0 + n), in
 * the output's memory, where the convolution has stored its results. */
void mafat_conv_add(const struct mafat_conv *c, struct mafat_span filters, int y0, int n);

/* Returns the filters of panel `unit` of the step, counted from the step's first panel. */
struct mafat_span mafat_conv_panel(const struct mafat_conv *c, int unit);
/* Returns the number of panels of the step. */
int mafat_conv_n_panels(const struct mafat_conv *c);

/* Divides the step into units: blocks of rows times n panels or groups. Called before the first
 * mafat_conv_take. */
void mafat_conv_share(struct mafat_conv *c, int n);

/* Gets the worker's next unit: a block, and the index of a panel or group. The last unit of a
 * worker's share may come in several parts with fewer rows each. False: no unit is left. Blocks
 * differ by at most one line. */
bool mafat_conv_take(struct mafat_conv *c, struct mafat_conv_block *block, int *index);

/* ---- depthwise in place: input rows are copied to scratch before they are overwritten ---- */

/* Returns the address of the copy of input row y of the channel block that the worker computes. */
static inline char *mafat_conv_kept_row(const struct mafat_conv *c, int y)
{
  const struct mafat_scratch *s = c->worker->scratch;
  return c->worker->slot_memory + s->saved_offset +
         (size_t)(y % s->saved_rows) * s->saved_row_bytes;
}

/* Gets the worker's next channel block; false: no block is left. */
bool mafat_conv_take_channels(const struct mafat_conv *c, struct mafat_run *run);
/* Copies some input rows of that block, with the padding columns that are read. */
void mafat_conv_keep_rows(const struct mafat_conv *c, const struct mafat_run *run,
                          struct mafat_span rows);
/* Returns the output rows, from y on, that the next kernel call computes. */
static inline struct mafat_span mafat_conv_kept_call(const struct mafat_conv *c, int y)
{
  return mafat_span(y, mafat_min(y + c->worker->scratch->rows_per_call, c->box.y.end));
}

/* Functions that compute a step, in conv_winograd.c, conv_direct.c and conv_depthwise.c. They
 * return MAFAT_OK or an error of reading weights. mafat_conv_winograd calls mafat_conv_open
 * itself. */
int mafat_conv_winograd(const struct mafat_worker *w, const struct mafat_step *step);
/* Returns the number of rounds (kind.h) of a Winograd step: 1 or 2. */
int mafat_conv_winograd_rounds(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_conv_direct(struct mafat_conv *c);
int mafat_conv_depthwise(struct mafat_conv *c); /* not fused into a 1x1 convolution */
int mafat_conv_depthwise_in_place(struct mafat_conv *c); /* output in the input's memory */
int mafat_conv_separable(struct mafat_conv *c); /* depthwise, fused into a 1x1 convolution */

#endif
