/* What the convolutions share: the tables in scratch that a kernel call reads
 * its arguments from, and whose rows and columns are meant. Internal to the kinds that sum. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_CONV_H
#define MAFAT_RUNNER_ENGINE_KINDS_CONV_H

#include "runner/engine/kinds/kind.h"

#include <string.h>

/* Rows of sums that one call computes: of the step's rows, twice as many where they are pooled. */
struct mafat_conv_block {
  struct mafat_span sums; /* rows of sums */
  int out_y;              /* first row of the step's output */
};

/* Units of work of a step: blocks of rows times panels or groups. */
struct mafat_conv_units {
  int n;                  /* of a block */
  int n_blocks, n_lines;  /* lines: rows, or pairs of rows that are pooled, which blocks are made of */
  int parts;              /* that the last ones of workers' shares come in */
  bool alone;             /* there is no other worker: */
  int next, next_block;   /* the unit of the block, and its number */
  struct mafat_conv_block block;
};

/* One convolution step being run by one worker. Where the step's layer is a
 * maxpool or a shortcut, the convolution is a layer inside it; under a maxpool
 * everything here is in the convolution's rows and columns but for `out_rows`. */
struct mafat_conv {
  const struct mafat_worker *worker;
  const struct mafat_step *step;
  const struct mafat_layer *layer; /* the convolution that reads the input */
  int index;                       /* its number: whose weights */
  int pointwise;                   /* the 1x1 that a depthwise lies inside, or -1 */
  const struct mafat_layer *shortcut; /* adds to what is stored, or NULL */
  bool pool;                       /* stores the largest of each 2 x 2 */
  struct mafat_box box;            /* of sums */
  struct mafat_span in_y;          /* input rows that may be read: the rest counts as zero */
  struct mafat_conv_piece *pieces; /* [n_pieces] */
  struct mafat_piece *references;  /* [n_pieces] */
  const float **in_rows;           /* [piece][scratch.in_rows] */
  float **out_rows;                /* [segment][scratch.rows_per_call] */
  float *zeros;
  int n_pieces;
  struct mafat_conv_units units;
  struct mafat_conv_outputs {
    int filter;
    struct mafat_span rows;
  } outputs;                       /* that the first segment's rows are at; no rows: none yet */
};

/* What a step is, of whatever type: all but `pool`, the tables and the units. */
void mafat_conv_begin(struct mafat_conv *c, const struct mafat_worker *w, const struct mafat_step *step);

/* Takes the tables from the worker's slot; clears the row of zeros. */
void mafat_conv_open(struct mafat_conv *c, const struct mafat_worker *w, const struct mafat_step *step);

/* Sets references and n_pieces to the pieces of input channels [channels). */
void mafat_conv_list_pieces(struct mafat_conv *c, struct mafat_span channels);

/* Pointers to n input rows of a piece from `first` on, at input column `x`; rows
 * that may not be read point at zeros. */
void mafat_conv_point_at_rows(const struct mafat_conv *c, const struct mafat_piece *piece, int first,
                              int n, int x, const float **rows);

/* Fills segments for the panel [filters) and rows [y0, y0 + n) of the step's
 * output; returns how many. */
int mafat_conv_point_at_output(struct mafat_conv *c, struct mafat_span filters, int y0, int n,
                               struct mafat_conv_segment segments[2]);

static inline struct mafat_piece mafat_conv_piece_of(const struct mafat_run *run)
{
  return (struct mafat_piece){run->tensor, run->block, run->lane, run->n, 0, run->source};
}

/* ---- tables of pointers to rows, of whatever type ---- */

/* As others, but so many bytes further; those that are `still` are not. */
static inline void mafat_conv_move_rows(void *to, const void *from, int n, ptrdiff_t bytes, const void *still)
{
  for (int r = 0; r < n; r++) {
    char *row;
    memcpy(&row, (const char *)from + (size_t)r * sizeof row, sizeof row);
    if (row != still) row += bytes;
    memcpy((char *)to + (size_t)r * sizeof row, &row, sizeof row);
  }
}

/* Those of a piece as those of another one, `last`, which are there: how far behind them they are. False: it says nothing of them. */
bool mafat_conv_pieces_apart(const struct mafat_conv *c, const struct mafat_piece *piece, const struct mafat_piece *last, ptrdiff_t *bytes);

/* Points `to` at these rows of the step's output, at a filter: from `first` on, the table that `outputs` is of, which may be the
 * same. */
void mafat_conv_point_at_filter(struct mafat_conv *c, int filter, struct mafat_span rows, const void *first, void *to);

/* Adds the shortcut's other map, if there is one, to the finished filters of rows
 * [y0, y0 + n) where they lie. */
void mafat_conv_add(const struct mafat_conv *c, struct mafat_span filters, int y0, int n);

/* The panel's `unit`-th of the filters of a step, panels counted from its first. */
struct mafat_span mafat_conv_panel(const struct mafat_conv *c, int unit);
int mafat_conv_n_panels(const struct mafat_conv *c);

/* Ahead of the step's first: it comes in n panels or groups. */
void mafat_conv_share(struct mafat_conv *c, int n);

/* The next unit of work of this worker: a block times one of these panels or groups, which *index says; the last
 * units of a step in blocks of fewer rows. False when none is left. */
bool mafat_conv_take(struct mafat_conv *c, struct mafat_conv_block *block, int *index);

/* ---- depthwise in place: what is written over, kept in the slot ---- */

/* Where row y of the block of channels lies that the worker is in. */
static inline char *mafat_conv_kept_row(const struct mafat_conv *c, int y)
{
  const struct mafat_scratch *s = c->worker->scratch;
  return c->worker->slot_memory + s->saved_offset + (size_t)(y % s->saved_rows) * s->saved_row_bytes;
}

/* The worker's next block of channels, all rows of which are its; false when none is left. */
bool mafat_conv_take_channels(const struct mafat_conv *c, struct mafat_run *run);
/* Copies these rows of it, with the padding that they are read with. */
void mafat_conv_keep_rows(const struct mafat_conv *c, const struct mafat_run *run, struct mafat_span rows);
/* The rows of its output from y on that one call computes. */
static inline struct mafat_span mafat_conv_kept_call(const struct mafat_conv *c, int y)
{
  return mafat_span(y, mafat_min(y + c->worker->scratch->rows_per_call, c->box.y.end));
}

/* The ways to compute a step, in files of their names; the first opens a convolution itself. */
int mafat_conv_winograd(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_conv_winograd_rounds(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_conv_direct(struct mafat_conv *c);
int mafat_conv_depthwise(struct mafat_conv *c); /* by itself */
int mafat_conv_depthwise_in_place(struct mafat_conv *c); /* its output over its input */
int mafat_conv_separable(struct mafat_conv *c); /* inside the 1x1 that reads it; conv_depthwise.c */

#endif
