/* Tensor views: how the dimensions of a model's tensor map to the axes of its storage. The storage
 * is a map with axes height, width and channels, or a constant with one axis.
 *
 * Each dimension is a list of *atoms*, the outermost first. If a dimension of 12 has atoms of sizes
 * 3 and 4, its index i has the digits i / 4 and i % 4; each digit moves along its atom's axis by
 * `step` elements. A reshape that only splits and joins dimensions regroups atoms, and a transpose
 * reorders them: no element is copied.
 *
 * Included by formats/graph, formats/npy, network/ and runner/image. Pure functions. */
#ifndef MAFAT_NETWORK_VIEW_H
#define MAFAT_NETWORK_VIEW_H

#include "network/rearrange.h"

#include <stdbool.h>

enum {
  MAFAT_VIEW_DIMS = 8,
  MAFAT_VIEW_ATOMS = 24,
  MAFAT_AXIS_NUMBERS = 0 /* axis of a constant; a map's axes are in network/rearrange.h */
};

/* Compact, because every named value of a model has a view while the model is imported. */
struct mafat_view_atom {
  long long size; /* at least 2 */
  long long step : 60;
  int axis : 4;
};

_Static_assert(sizeof(struct mafat_view_atom) == 16, "step and axis share one word");

struct mafat_view {
  int n_dims, n_atoms;
  long long dims[MAFAT_VIEW_DIMS];
  signed char atoms_of[MAFAT_VIEW_DIMS]; /* number of atoms of each dimension; 0: its size is 1 */
  struct mafat_view_atom atoms[MAFAT_VIEW_ATOMS]; /* those of dimension 0, then of 1, ... */
};

/* Returns the number of elements; 0 if a dimension is 0. */
long long mafat_view_elements(const struct mafat_view *v);

/* Makes a view with all dimensions on one axis, row-major, as values are stored in a file. */
void mafat_view_linear(struct mafat_view *v, int n_dims, const long long *dims, int axis);
/* Makes a view with dimension k on axis axes[k]; dimensions of one axis are row-major. Sets
 * extents[axis] to the length of each axis, or to LLONG_MAX on overflow; then the view must not be
 * used. */
void mafat_view_lay(struct mafat_view *v, int n_dims, const long long *dims, const int *axes,
                    long long extents[MAFAT_N_AXES]);

/* Returns the default axes of n_dims dimensions: the last one is on channels, the one before on
 * columns, the others on rows. */
void mafat_view_usual_axes(int n_dims, int *axes);

/* Reshapes without moving elements. False: the dimensions need an atom to be split at a size that
 * does not divide it, or more than MAFAT_VIEW_ATOMS atoms. */
bool mafat_view_reshape(struct mafat_view *out, const struct mafat_view *v, int n_dims,
                        const long long *dims);
/* Dimension i of the result is dimension order[i] of v. */
void mafat_view_transpose(struct mafat_view *out, const struct mafat_view *v, const int *order);

/* True if both map elements to the same positions. Dimensions must be equal; their division into
 * atoms may differ. */
bool mafat_view_equals(const struct mafat_view *a, const struct mafat_view *b);

/* Adds to places[axis], for each axis, how far index `at` of the dimension moves along it. */
void mafat_view_add(const struct mafat_view *v, int dim, long long at,
                    long long places[MAFAT_N_AXES]);
/* Returns the index of the first atom of a dimension. */
int mafat_view_first_atom(const struct mafat_view *v, int dim);

/* Changes the size of a dimension that has one atom; size 1 removes the atom. */
void mafat_view_set_size(struct mafat_view *v, int dim, long long n);

/* Splits the atoms of two views with equal dimensions until atom k of both has the same size, for
 * each k. False: impossible. */
bool mafat_view_refine(struct mafat_view *a, struct mafat_view *b);

#endif
