/* How the dimensions of a model's tensor lie on the axes of what holds its elements: a map of height, width and
 * channels, or the numbers of a constant, which lie on one axis.
 *
 * Each dimension is a list of *atoms*, the outermost first: index i of a dimension of 12 = 3 x 4 atoms is digit
 * i / 4 of the first and i % 4 of the second, and each digit moves the element along one axis, `step` places. A
 * reshape that only splits and joins dimensions changes which atoms belong to which dimension, a transpose their
 * order: no element moves. */
#ifndef MAFAT_NETWORK_VIEW_H
#define MAFAT_NETWORK_VIEW_H

#include "network/rearrange.h"

#include <stdbool.h>

enum {
  MAFAT_VIEW_DIMS = 8,
  MAFAT_VIEW_ATOMS = 24,
  MAFAT_AXIS_NUMBERS = 0 /* of a constant; a map's are those of network/rearrange.h */
};

/* Small, for each name in a file has a view while it is imported. */
struct mafat_view_atom {
  long long size; /* at least 2 */
  long long step : 60;
  int axis : 4;
};

_Static_assert(sizeof(struct mafat_view_atom) == 16, "step and axis lie in one number");

struct mafat_view {
  int n_dims, n_atoms;
  long long dims[MAFAT_VIEW_DIMS];
  signed char atoms_of[MAFAT_VIEW_DIMS]; /* how many of the list are the dimension's; 0: its size is 1 */
  struct mafat_view_atom atoms[MAFAT_VIEW_ATOMS];
};

/* Elements; 0 where a dimension is 0. */
long long mafat_view_elements(const struct mafat_view *v);

/* Dimensions in row-major order along one axis: how numbers lie in a file. */
void mafat_view_linear(struct mafat_view *v, int n_dims, const long long *dims, int axis);
/* Each dimension on the axis that is named for it; those of one axis in row-major order. extents: of the axes,
 * LLONG_MAX where they are longer: of a view that is not to be used. */
void mafat_view_lay(struct mafat_view *v, int n_dims, const long long *dims, const int *axes,
                    long long extents[MAFAT_N_AXES]);

/* Where the dimensions of an ordinary map of so many lie: the last one on channels, those before on columns and
 * rows. */
void mafat_view_usual_axes(int n_dims, int *axes);

/* The same elements in the same order as other dimensions. False: an atom would have to be cut where its size has no
 * such factor. */
bool mafat_view_reshape(struct mafat_view *out, const struct mafat_view *v, int n_dims, const long long *dims);
void mafat_view_transpose(struct mafat_view *out, const struct mafat_view *v, const int *order);

/* Do the elements lie alike? Dimensions must be the same; how they are cut into atoms does not matter. */
bool mafat_view_equals(const struct mafat_view *a, const struct mafat_view *b);

/* Index `at` of a dimension, along each axis: added to places. */
void mafat_view_add(const struct mafat_view *v, int dim, long long at, long long places[MAFAT_N_AXES]);
/* The first atom of a dimension in the list. */
int mafat_view_first_atom(const struct mafat_view *v, int dim);

/* Another size of a dimension that has one atom; an atom of 1 is none. */
void mafat_view_set_size(struct mafat_view *v, int dim, long long n);

/* Both, whose dimensions are the same, cut so that their atoms have the same sizes one by one. False: that cannot be. */
bool mafat_view_refine(struct mafat_view *a, struct mafat_view *b);

#endif
