/* MOTES' Apply: makes a plan's spec from a set of partition schemes.
 *
 * A scheme splits some layers into n parts, along one component of the axis connecting graph.
 * Schemes run together in a split group, with the layers between them, in two cases. They split a
 * layer along several axes; or they split along one axis, and one reads the other's output. All
 * other layers form groups of whole maps before, between and after.
 *
 * Included by search/motes/schemes.h and search/motes/state.h; called by search/motes (state.c,
 * motes.c). Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_APPLY_H
#define MAFAT_SEARCH_MOTES_APPLY_H

#include "predictor/plan/spec.h"

struct mafat_scheme {
  enum mafat_split_axis axis;
  int n;       /* parts */
  int *layers; /* (n_layers) rising */
  int n_layers;
};

enum { MAFAT_MOST_SCHEMES = 96 }; /* schemes per state */

/* Makes the spec for the first n_layers. Groups of whole maps end with cells (cell_of: per layer;
 * NULL: no cells). `apart`: schemes that are only connected by reading are separate groups.
 * `direct`: groups request direct convolution. MAFAT_EINVAL: schemes depend on each other in a
 * cycle; MAFAT_ENOMEM. */
int mafat_schemes_apply(struct mafat_spec **out, const struct mafat_network *network, int n_layers,
                        const struct mafat_scheme *const *schemes, int n, const int *cell_of,
                        bool apart, bool direct, struct mafat_heap *heap);

/* True if the scheme splits that layer. */
bool mafat_scheme_holds(const struct mafat_scheme *scheme, int layer);
/* True if both split a layer along the same axis, which no plan can do. */
bool mafat_schemes_clash(const struct mafat_scheme *a, const struct mafat_scheme *b);

#endif
