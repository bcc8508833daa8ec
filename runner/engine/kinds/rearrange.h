/* Addresses, rows and columns of copied elements, shared by the ways of copying. Internal to
 * rearrange. Included by runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H
#define MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H

#include "network/rearrange.h"
#include "runner/engine/kinds/kind.h"

struct mafat_place {
  int at[MAFAT_N_AXES];
};

/* A part (network/rearrange.h), and the region of the output that it fills. */
struct mafat_strided_copy {
  const struct mafat_tensors *tensors;
  const struct mafat_operand *operand;
  const struct mafat_part *part;
  int tensor;           /* output tensor */
  struct mafat_box box; /* all channels */
};

static inline int mafat_copy_extent(const struct mafat_strided_copy *m, int axis)
{
  struct mafat_shape s = m->operand->shape;
  return axis == MAFAT_AXIS_H ? s.h : axis == MAFAT_AXIS_W ? s.w : s.c;
}

/* For index `out` of the part's output along an axis, adds the input position to `in`. Returns how
 * many outputs from there on continue, each an in_step of the axis' last atom farther in the input;
 * 0: none. */
int mafat_copy_locate(const struct mafat_part *part, int axis, int out, struct mafat_place *in);

/* ---- rows ---- */

/* Walk over output rows to which the part contributes. */
struct mafat_copy_rows {
  const struct mafat_strided_copy *copy;
  int y;
  struct mafat_place in; /* input position of row y - 1, the one returned */
};

static inline struct mafat_copy_rows mafat_copy_rows(const struct mafat_strided_copy *m)
{
  return (struct mafat_copy_rows){.copy = m, .y = m->box.y.begin};
}

bool mafat_copy_next_row(struct mafat_copy_rows *rows);

/* ---- columns ---- */

/* Walk over columns: at each turn, columns at equal distances set by one atom, whose inputs are at
 * equal distances along one axis. */
struct mafat_copy_columns {
  const struct mafat_strided_copy *copy;
  struct mafat_place from; /* input position of the row */
  int atom;                /* atom that sets the distances; -1: each column by itself */
  int next, n_turns;
  int x, n, step;          /* output columns */
  struct mafat_place in;   /* input of the first */
  int in_axis, in_step;
};

struct mafat_copy_columns mafat_copy_columns(const struct mafat_strided_copy *m,
                                             struct mafat_place from, bool by_channels);
bool mafat_copy_next_columns(struct mafat_copy_columns *c);

/* ---- elements ---- */

/* Address of an operand's channel, and the contiguous channels around it in its block. */
struct mafat_copy_channel {
  float *at;
  int pixel;         /* floats between pixels */
  int before, after; /* number of channels of the same block and source on both sides */
};

struct mafat_copy_channel mafat_copy_find(const struct mafat_strided_copy *m,
                                          struct mafat_place in);

/* ---- ways of copying ---- */

/* For parts with runs of several channels (mafat_part_run). */
void mafat_copy_pixels(const struct mafat_strided_copy *m);
/* For all parts. */
void mafat_copy_lanes(const struct mafat_strided_copy *m);
/* Copies the whole box by the better of these: floats, and bytes (integer/rearrange.c). */
void mafat_copy_floats(const struct mafat_strided_copy *m);
void mafat_copy_bytes(const struct mafat_strided_copy *m);

#endif
