/* What ways of moving elements share: places, rows and columns of a part. Internal to rearrange. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H
#define MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H

#include "network/rearrange.h"
#include "runner/engine/kinds/kind.h"

struct mafat_place {
  int at[MAFAT_N_AXES];
};

/* A part, and what of the output is made of it. */
struct mafat_moving {
  const struct mafat_tensors *tensors;
  const struct mafat_operand *operand;
  const struct mafat_part *part;
  int tensor;           /* that it puts them in */
  struct mafat_box box; /* of all channels */
};

static inline int mafat_moving_extent(const struct mafat_moving *m, int axis)
{
  struct mafat_shape s = m->operand->shape;
  return axis == MAFAT_AXIS_H ? s.h : axis == MAFAT_AXIS_W ? s.w : s.c;
}

/* What the part puts at index `out` along an axis is read where `in` becomes, to which it is added. Returns how many it
 * puts there and right behind, each by an in_step of the axis' last atom farther on; 0: none. */
int mafat_moving_locate(const struct mafat_part *part, int axis, int out, struct mafat_place *in);

/* ---- rows ---- */

/* A walk over the rows that the part puts something in. */
struct mafat_moving_rows {
  const struct mafat_moving *moving;
  int y;
  struct mafat_place in; /* of what is read for row y - 1, the one that was found */
};

static inline struct mafat_moving_rows mafat_moving_rows(const struct mafat_moving *m)
{
  return (struct mafat_moving_rows){.moving = m, .y = m->box.y.begin};
}

bool mafat_moving_next_row(struct mafat_moving_rows *rows);

/* ---- columns ---- */

/* A walk over the columns: those at a time that one atom puts at equal distances, from places along one axis that are
 * at equal distances, too. */
struct mafat_moving_columns {
  const struct mafat_moving *moving;
  struct mafat_place from; /* of the row */
  int atom;                /* that gives the distances; -1: each column by itself */
  int next, n_turns;
  int x, n, step;          /* columns of the output */
  struct mafat_place in;   /* of the first */
  int in_axis, in_step;
};

struct mafat_moving_columns mafat_moving_columns(const struct mafat_moving *m, struct mafat_place from,
                                                 bool by_channels);
bool mafat_moving_next_columns(struct mafat_moving_columns *c);

/* ---- elements ---- */

/* Where a channel of the operand lies, and how many more lie behind it in its block. */
struct mafat_moving_channel {
  float *at;
  int pixel;         /* floats from a pixel to the next */
  int before, after; /* channels of the same block and source */
};

struct mafat_moving_channel mafat_moving_find(const struct mafat_moving *m, struct mafat_place in);

/* ---- ways ---- */

/* For parts with runs of channels (mafat_part_run): worth it where they are more than one. */
void mafat_moving_pixels(const struct mafat_moving *m);
/* For all. */
void mafat_moving_lanes(const struct mafat_moving *m);
/* All of the box, by whichever of these suits the part: of floats, and of bytes (integer/rearrange.c). */
void mafat_moving_floats(const struct mafat_moving *m);
void mafat_moving_bytes(const struct mafat_moving *m);

#endif
