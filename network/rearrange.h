/* Elements of maps that come to lie in other places, as plain data: transposes, reshapes across axes, shuffles of
 * channels, strided slices, pads, blocks of pixels as channels and back, joins along columns.
 *
 * Each operand has a *part*: a space of indices, one for each *atom*, and where its elements are read and put.
 * Element (i0, i1, ...) of it, each i below its atom's size, comes from
 *     in[axis] = in_first[axis] + the sum of i_k * in_step of the atoms of that in_axis
 * of the operand, and goes to
 *     out[axis] = out_first[axis] + the sum of i_k * out_step of the atoms of that out_axis.
 * What atoms do to different axes is independent of each other, so all of it is known axis by axis. */
#ifndef MAFAT_NETWORK_REARRANGE_H
#define MAFAT_NETWORK_REARRANGE_H

#include "base/box.h"
#include "network/layer.h"

enum { MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C, MAFAT_N_AXES };

enum { MAFAT_MAX_ATOMS = 8 };

/* Steps may be negative; an in_step may be 0: the same element again. */
struct mafat_atom {
  int size;
  signed char out_axis;
  int out_step;
  signed char in_axis;
  int in_step;
};

/* What is read beside an operand's map. */
enum mafat_outside {
  MAFAT_OUTSIDE_FILL,    /* nothing: the element is as what no part puts */
  MAFAT_OUTSIDE_REFLECT, /* what lies as far inside of the edge, which is not repeated */
  MAFAT_OUTSIDE_EDGE     /* the nearest there is */
};

/* In no particular order, and how they are given need not be how they are kept: infer makes the same of them with as
 * few atoms as can be, of positive out_steps, larger ones first. */
struct mafat_part {
  struct mafat_atom atoms[MAFAT_MAX_ATOMS];
  int n_atoms;
  int out_first[MAFAT_N_AXES], in_first[MAFAT_N_AXES];
  enum mafat_outside outside;
};

/* One allocation; the layer owns it. Parts put no two elements in one place. */
struct mafat_rearrange {
  struct mafat_shape shape; /* of the output; of split, each output's is that of its part */
  float fill;               /* where no part puts anything */
  int n_parts;              /* as many as operands; of split, as outputs */
  struct mafat_part parts[];
};

/* Makes a part what infer leaves of it, for an output of that shape. NULL, or what is wrong with it. */
const char *mafat_part_settle_atoms(struct mafat_part *part, struct mafat_shape out);
/* The smallest output that a part fits into; extents beyond 2^30 become that. */
struct mafat_shape mafat_part_shape(const struct mafat_part *part);

/* ---- of parts that infer has been at ---- */

/* Atoms of an out_axis are [begin, end) of the list. */
struct mafat_span mafat_part_atoms(const struct mafat_part *part, int out_axis);
/* Rows (axis_y) or columns of an operand of that shape that the span `out` of the output reads. */
struct mafat_span mafat_part_in_span(const struct mafat_part *part, struct mafat_shape operand, bool axis_y, struct mafat_span out);
/* Channels that are put side by side as they lie: 0 where pixels are taken apart. */
int mafat_part_run(const struct mafat_part *part);
long long mafat_part_elements(const struct mafat_part *part);
/* Does it read beside the operand's map? */
bool mafat_part_leaves(const struct mafat_part *part, struct mafat_shape operand);
/* Index `at` along an axis of so many, or what is read for it; -1: nothing. */
int mafat_part_settle(enum mafat_outside outside, int at, int extent);

#endif
