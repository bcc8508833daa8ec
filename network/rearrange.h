/* Parameters of rearrange, a strided copy between maps: transposes, reshapes across axes, channel
 * shuffles, strided slices, pads, space to depth and back, joins along columns.
 *
 * Each operand has a *part*: an index space with one index per *atom*. Element (i0, i1, ...), each
 * i below its atom's size, is read from the operand at the position
 *   in[axis] = in_first[axis] + sum of i_k * in_step over the atoms with that in_axis
 * and written to the output at the position
 *   out[axis] = out_first[axis] + sum of i_k * out_step over the atoms with that out_axis.
 * Atoms of different axes are independent, so each axis can be computed by itself.
 *
 * Included by network/, predictor/kinds, runner/engine and search/motes; used by formats/graph,
 * which builds the parts, through network/view.h. Pure functions. */
#ifndef MAFAT_NETWORK_REARRANGE_H
#define MAFAT_NETWORK_REARRANGE_H

#include "base/box.h"
#include "network/layer.h"

enum { MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C, MAFAT_N_AXES };

enum { MAFAT_MAX_ATOMS = 8 };

/* One index of a part's index space. Steps may be negative. An in_step of 0 repeats an element. */
struct mafat_atom {
  int size;
  signed char out_axis;
  int out_step;
  signed char in_axis;
  int in_step;
};

/* How elements outside the operand's map are read. */
enum mafat_outside {
  MAFAT_OUTSIDE_FILL,    /* nothing is read: the element is `fill` */
  MAFAT_OUTSIDE_REFLECT, /* mirrored at the edge, without repeating it */
  MAFAT_OUTSIDE_EDGE     /* the nearest element of the map */
};

/* Atoms may be given in any order. infer normalizes them: as few as possible, sorted by out_axis,
 * with positive out_steps, larger ones first. */
struct mafat_part {
  struct mafat_atom atoms[MAFAT_MAX_ATOMS];
  int n_atoms;
  int out_first[MAFAT_N_AXES], in_first[MAFAT_N_AXES];
  enum mafat_outside outside;
};

/* One allocation, owned by the layer. No two parts write the same element. */
struct mafat_rearrange {
  struct mafat_shape shape; /* output shape; in a split layer, each part has its own */
  float fill;               /* value of elements that no part writes */
  int n_parts;              /* one per operand; in a split layer, one per output */
  struct mafat_part parts[];
};

/* Checks a part for an output of shape `out`, and normalizes it. Returns NULL, or the error. */
const char *mafat_part_settle_atoms(struct mafat_part *part, struct mafat_shape out);
/* Returns the shape of the smallest output that contains all elements that the part writes; extents
 * are at most 2^30. */
struct mafat_shape mafat_part_shape(const struct mafat_part *part);

/* ---- functions of normalized parts ---- */

/* Returns the range of the atoms with that out_axis. */
struct mafat_span mafat_part_atoms(const struct mafat_part *part, int out_axis);
/* Returns the rows (axis_y) or columns of an operand of that shape that output span `out` needs. */
struct mafat_span mafat_part_in_span(const struct mafat_part *part, struct mafat_shape operand,
                                     bool axis_y, struct mafat_span out);
/* Returns the length of runs of channels that are contiguous in both maps; 0 if neighboring
 * channels are not. */
int mafat_part_run(const struct mafat_part *part);
long long mafat_part_elements(const struct mafat_part *part);
/* True if the part reads outside an operand of that shape. */
bool mafat_part_leaves(const struct mafat_part *part, struct mafat_shape operand);
/* Returns the index on an axis of length `extent` that is read for index `at`, which may be
 * outside; -1: nothing is read. */
int mafat_part_settle(enum mafat_outside outside, int at, int extent);

#endif
