/* Strided copies between maps (network/rearrange.h defines part and atom): walks over the rows and
 * columns of a part, and addresses of its elements. Allocates nothing. Included by
 * runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H
#define MAFAT_RUNNER_ENGINE_KINDS_REARRANGE_H

#include "network/rearrange.h"
#include "runner/engine/kinds/kind.h"

/* Position of an element in the input. */
struct mafat_place {
  int at[MAFAT_N_AXES];
};

/* A copy: the part, its operand, and the region of the output to be written. */
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

/* Adds the input position of index `out` along an output axis to *in. Returns the number of outputs
 * from `out` on that have equal distances in the input: the in_step of the axis' last atom. 0: the
 * part does not write index `out`. */
int mafat_copy_locate(const struct mafat_part *part, int axis, int out, struct mafat_place *in);

/* ---- rows ---- */

/* Walk over output rows to which the part contributes. */
struct mafat_copy_rows {
  const struct mafat_strided_copy *copy;
  int y;
  struct mafat_place in; /* input position of the row returned, y - 1 */
};

static inline struct mafat_copy_rows mafat_copy_rows(const struct mafat_strided_copy *m)
{
  return (struct mafat_copy_rows){.copy = m, .y = m->box.y.begin};
}

bool mafat_copy_next_row(struct mafat_copy_rows *rows);

/* ---- columns ---- */

/* Walk over the output columns of a row. Each turn gives the columns of one atom: n columns at
 * equal distances, whose inputs are at equal distances along one axis. */
struct mafat_copy_columns {
  const struct mafat_strided_copy *copy;
  struct mafat_place from; /* input position of the row */
  int atom;                /* index of that atom; -1: each column is a turn */
  int next, n_turns;
  int x, n, step;          /* output columns x, x + step, ... */
  struct mafat_place in;   /* input position of the first */
  int in_axis, in_step;
};

/* Starts a walk; `from` is the input position of the row. Prefers an atom of columns of the input;
 * with by_channels, an atom of its channels may be used if there is none. */

struct mafat_copy_columns mafat_copy_columns(const struct mafat_strided_copy *m,
                                             struct mafat_place from, bool by_channels);
bool mafat_copy_next_columns(struct mafat_copy_columns *c);

/* ---- elements ---- */

/* Address of an element of the operand, and the contiguous channels around it in its block. */
struct mafat_copy_channel {
  float *at;
  int pixel;         /* floats between pixels */
  int before, after; /* number of contiguous channels on either side */
};

struct mafat_copy_channel mafat_copy_find(const struct mafat_strided_copy *m,
                                          struct mafat_place in);

/* ---- copies of the whole box ---- */

/* Copies floats of a part that copies several channels contiguously (mafat_part_run > 1). */
void mafat_copy_pixels(const struct mafat_strided_copy *m);
/* Copies floats of any part. */
void mafat_copy_lanes(const struct mafat_strided_copy *m);
/* Calls the faster of these. */
void mafat_copy_floats(const struct mafat_strided_copy *m);
/* Copies bytes of any part (integer/rearrange.c). */
void mafat_copy_bytes(const struct mafat_strided_copy *m);

#endif
