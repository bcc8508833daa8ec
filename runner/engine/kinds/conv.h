/* Shared by all convolutions: tables in scratch from which a kernel call reads its arguments, and
 * the division of a step into units. Internal to the kinds that sum. Allocates nothing. Included by
 * runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_CONV_H
#define MAFAT_RUNNER_ENGINE_KINDS_CONV_H

#include "runner/engine/kinds/kind.h"

#include <string.h>

/* Rows of sums of one call: the step's rows, or twice as many if pooled. */
struct mafat_conv_block {
  struct mafat_span sums; /* rows of sums */
  int out_y;              /* first row in the step's output */
};

/* Units of work of a step: blocks of rows times panels or groups. */
struct mafat_conv_units {
  int n;                  /* panels or groups of a block */
  int n_blocks, n_lines;  /* lines: rows, or pooled pairs of rows, of which blocks are made */
  int parts;              /* parts into which the last units of a worker's share are divided */
  bool alone;             /* single worker: next and next_block count its units */
  int next, next_block;   /* unit of the block, and its number */
  struct mafat_conv_block block;
};

/* One convolution step on one worker. If the step's layer is a maxpool or a shortcut, the
 * convolution is a layer inside it. Under a maxpool, everything but `out_rows` is in the
 * convolution's rows and columns. */
struct mafat_conv {
  const struct mafat_worker *worker;
  const struct mafat_step *step;
  const struct mafat_layer *layer; /* convolution that reads the input */
  int index;                       /* its number, for weights */
  int pointwise;                   /* the 1x1 that contains a depthwise, or -1 */
  const struct mafat_layer *shortcut; /* added to stored outputs, or NULL */
  bool pool;                       /* stores the maximum of each 2 x 2 */
  struct mafat_box box;            /* box of the sums */
  struct mafat_span in_y;          /* input rows that exist; others count as zero */
  struct mafat_conv_block_slice *block_slices; /* [n_block_slices] */
  struct mafat_block_slice *references;  /* [n_block_slices] */
  const float **in_rows;           /* [block slice][scratch.in_rows] */
  float **out_rows;                /* [segment][scratch.rows_per_call] */
  float *zeros;
  int n_block_slices;
  struct mafat_conv_units units;
  struct mafat_conv_outputs {
    int filter;
    struct mafat_span rows;
  } outputs;                       /* filter and rows that the first segment points at; no rows:
                                      none yet */
};

/* Initializes a step of any type, without `pool`, tables and units. */
void mafat_conv_begin(struct mafat_conv *c, const struct mafat_worker *w,
                      const struct mafat_step *step);

/* Sets the tables in the worker's slot; clears the row of zeros. */
void mafat_conv_open(struct mafat_conv *c, const struct mafat_worker *w,
                     const struct mafat_step *step);

/* Fills references and n_block_slices for input channels [channels). */
void mafat_conv_list_block_slices(struct mafat_conv *c, struct mafat_span channels);

/* Sets pointers to n input rows of a block slice from `first` on, at input column `x`; rows that do
 * not exist point at zeros. */
void mafat_conv_point_at_rows(const struct mafat_conv *c,
                              const struct mafat_block_slice *block_slice, int first, int n, int x,
                              const float **rows);

/* Fills segments for the panel [filters) and rows [y0, y0 + n) of the step's output; returns their
 * number. */
int mafat_conv_point_at_output(struct mafat_conv *c, struct mafat_span filters, int y0, int n,
                               struct mafat_conv_segment segments[2]);

static inline struct mafat_block_slice mafat_conv_block_slice_of(const struct mafat_run *run)
{
  return (struct mafat_block_slice){run->tensor, run->block, run->lane, run->n, 0, run->source};
}

/* ---- tables of row pointers, any type ---- */

/* Copies pointers and adds `bytes` to each; those equal to `still` stay as they are. */
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

/* Distance from the rows of block slice `last`, whose pointers exist, to those of `block_slice`.
 * False: not constant. */
bool mafat_conv_block_slices_apart(const struct mafat_conv *c,
                                   const struct mafat_block_slice *block_slice,
                                   const struct mafat_block_slice *last, ptrdiff_t *bytes);

/* Fills `to` with pointers to these rows of the step's output at a filter. `first`: table described
 * by `outputs`; may be the same. */
void mafat_conv_point_at_filter(struct mafat_conv *c, int filter, struct mafat_span rows,
                                const void *first, void *to);

/* Adds the shortcut's other map, if any, to the finished filters of rows [y0, y0 + n) in place. */
void mafat_conv_add(const struct mafat_conv *c, struct mafat_span filters, int y0, int n);

/* Filters of panel `unit` of a step, counted from its first panel. */
struct mafat_span mafat_conv_panel(const struct mafat_conv *c, int unit);
int mafat_conv_n_panels(const struct mafat_conv *c);

/* Call before a step's first mafat_conv_take: divides it into n panels or groups. */
void mafat_conv_share(struct mafat_conv *c, int n);

/* Next unit of this worker: a block, and the panel or group *index. The last units of a step have
 * fewer rows. False when none is left. */
bool mafat_conv_take(struct mafat_conv *c, struct mafat_conv_block *block, int *index);

/* ---- depthwise in place: copies in the slot of rows to be overwritten ---- */

/* Copy of row y of the worker's current channel block. */
static inline char *mafat_conv_kept_row(const struct mafat_conv *c, int y)
{
  const struct mafat_scratch *s = c->worker->scratch;
  return c->worker->slot_memory + s->saved_offset +
         (size_t)(y % s->saved_rows) * s->saved_row_bytes;
}

/* Next channel block of the worker, with all its rows; false when none is left. */
bool mafat_conv_take_channels(const struct mafat_conv *c, struct mafat_run *run);
/* Copies these rows of it, with the padding they are read with. */
void mafat_conv_keep_rows(const struct mafat_conv *c, const struct mafat_run *run,
                          struct mafat_span rows);
/* Output rows from y on that one call computes. */
static inline struct mafat_span mafat_conv_kept_call(const struct mafat_conv *c, int y)
{
  return mafat_span(y, mafat_min(y + c->worker->scratch->rows_per_call, c->box.y.end));
}

/* Ways to compute a step, in files of their names. mafat_conv_winograd calls mafat_conv_open
 * itself. */
int mafat_conv_winograd(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_conv_winograd_rounds(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_conv_direct(struct mafat_conv *c);
int mafat_conv_depthwise(struct mafat_conv *c); /* by itself */
int mafat_conv_depthwise_in_place(struct mafat_conv *c); /* output over its input */
int mafat_conv_separable(struct mafat_conv *c); /* inside the 1x1 that reads it
                                                   (conv_depthwise.c) */

#endif
