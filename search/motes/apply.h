/* The procedure "Apply" of MOTES: makes a plan's spec from a set of partition schemes.
 *
 * A scheme splits some layers into n parts along one axis. Two schemes run together in one split
 * group, with the layers between them, if they split the same layer along different axes, or if
 * they split along the same axis and one reads the other's output. All other layers form groups of
 * whole maps before, between and after the split groups.
 *
 * Included by search/motes/schemes.h and search/motes/state.h; called by search/motes (state.c,
 * motes.c). Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_APPLY_H
#define MAFAT_SEARCH_MOTES_APPLY_H

#include "predictor/plan/spec.h"

struct mafat_scheme {
  enum mafat_split_axis axis;
  int n;       /* number of parts */
  int *layers; /* (n_layers) layers that are split, rising */
  int n_layers;
};

enum { MAFAT_MOST_SCHEMES = 96 }; /* limit of schemes in a plan */

/* Makes the spec of the first n_layers. cell_of: [layer], cells with which groups of whole maps
 * end; NULL: no cells. apart: two schemes that are connected only because one reads the other's
 * output are separate groups. direct: groups have the word for direct convolution. The caller
 * closes *out. Returns MAFAT_OK, MAFAT_ENOMEM or MAFAT_EINVAL (groups would read each other's
 * outputs). */
int mafat_schemes_apply(struct mafat_spec **out, const struct mafat_network *network, int n_layers,
                        const struct mafat_scheme *const *schemes, int n, const int *cell_of,
                        bool apart, bool direct, struct mafat_heap *heap);

/* True if the scheme splits that layer. */
bool mafat_scheme_holds(const struct mafat_scheme *scheme, int layer);
/* True if both split a layer along the same axis, which no plan can do. */
bool mafat_schemes_clash(const struct mafat_scheme *a, const struct mafat_scheme *b);

#endif
