/* Strided copies between maps: iterates over the rows and columns of a part, and finds the
 * addresses of its elements. A part describes a copy of some elements as nested loops; an atom is
 * one of these loops, with equal steps (network/rearrange.h). Writes only the output tensor;
 * allocates nothing. Included by files of runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H
#define MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H

#include "network/rearrange.h"
#include "runner/engine/kinds/kind.h"

/* Position of an element in the input: [axis] is its row, column or channel. */
struct mafat_place {
  int at[MAFAT_N_AXES];
};

/* A copy to be made: the part, the operand it reads, and the region of the output it writes. */
struct mafat_strided_copy {
  const struct mafat_tensors *tensors;
  const struct mafat_operand *operand;
  const struct mafat_part *part;
  int tensor;           /* output tensor */
  struct mafat_box box; /* rows and columns of the output; all channels */
};

static inline int mafat_copy_extent(const struct mafat_strided_copy *m, int axis)
{
  struct mafat_shape s = m->operand->shape;
  return axis == MAFAT_AXIS_H ? s.h : axis == MAFAT_AXIS_W ? s.w : s.c;
}

/* Finds the input position from which index `out` of an output axis is copied, and adds it to *in.
 * Returns the number of indices, from `out` on, whose input positions are in_step (of the axis'
 * last atom) apart. 0: the part does not write index `out`. */
int mafat_copy_locate(const struct mafat_part *part, int axis, int out, struct mafat_place *in);

/* ---- rows ---- */

/* Iterates over the output rows that the part writes. */
struct mafat_copy_rows {
  const struct mafat_strided_copy *copy;
  int y;                 /* row after the current row */
  struct mafat_place in; /* input position of the current row */
};

static inline struct mafat_copy_rows mafat_copy_rows(const struct mafat_strided_copy *m)
{
  return (struct mafat_copy_rows){.copy = m, .y = m->box.y.begin};
}

/* Goes to the next row, whose number is then y - 1. False: there is none. */
bool mafat_copy_next_row(struct mafat_copy_rows *rows);

/* ---- columns ---- */

/* Iterates over the output columns of a row. Each turn gives the columns of one atom: n columns at
 * equal distances, whose inputs are at equal distances along one axis. */
struct mafat_copy_columns {
  const struct mafat_strided_copy *copy;
  struct mafat_place from; /* input position of the row */
  int atom;                /* index of that atom in the part; -1: each turn is a single column */
  int next, n_turns;       /* number of the next turn, from 0; number of turns */
  int x, n, step;          /* the turn's output columns: x, x + step, ..., n of them */
  struct mafat_place in;   /* input position of column x */
  int in_axis, in_step;    /* from a column to the next, in.at[in_axis] changes by in_step */
};

/* Starts iterating; `from` is the input position of the row. Uses the longest atom whose inputs are
 * columns. If there is none and by_channels is true, uses an atom whose inputs are channels. */
struct mafat_copy_columns mafat_copy_columns(const struct mafat_strided_copy *m,
                                             struct mafat_place from, bool by_channels);
/* Goes to the next turn. False: there is none. */
bool mafat_copy_next_columns(struct mafat_copy_columns *c);

/* ---- elements ---- */

/* Address of an element of the operand, and the channels around it that are contiguous in
 * memory. */
struct mafat_copy_channel {
  float *at;
  int pixel;         /* floats from a column to the next */
  int before, after; /* number of contiguous channels before and after the element */
};

struct mafat_copy_channel mafat_copy_find(const struct mafat_strided_copy *m,
                                          struct mafat_place in);

/* ---- copies of the whole box ---- */

/* Copies floats of a part in which several channels stay contiguous (mafat_part_run > 1). */
void mafat_copy_pixels(const struct mafat_strided_copy *m);
/* Copies floats of any part. */
void mafat_copy_lanes(const struct mafat_strided_copy *m);
/* Calls mafat_copy_pixels if it can copy the part, because it is faster, else mafat_copy_lanes. */
void mafat_copy_floats(const struct mafat_strided_copy *m);
/* Copies 8-bit integers of any part. Defined in integer/rearrange.c. */
void mafat_copy_bytes(const struct mafat_strided_copy *m);

#endif
