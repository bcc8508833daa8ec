/* The procedure "Apply" of MOTES: makes a plan's spec from a set of partition schemes. Included by
 * search/motes/schemes.h and search/motes/state.h; called by search/motes (state.c, motes.c).
 * Allocates from the caller's heap.
 *
 * A scheme splits some layers into n parts along one axis. Two schemes run together in one split
 * group if they split the same layer along different axes, or if they split along the same axis and
 * a layer of one reads a layer of the other. Layers between them belong to the group too. All other
 * layers form groups of whole maps before, between and after the split groups. */
#ifndef MAFAT_SEARCH_MOTES_APPLY_H
#define MAFAT_SEARCH_MOTES_APPLY_H

#include "predictor/plan/spec.h"

struct mafat_scheme {
  enum mafat_split_axis axis;
  int n;       /* number of parts */
  int *layers; /* (n_layers) layers that are split, in ascending order */
  int n_layers;
};

enum { MAFAT_MOST_SCHEMES = 96 }; /* most schemes in a plan */

/* Makes the spec of the first n_layers layers. cell_of: [layer]: number of its cell (cells.h); a
 * group of whole maps ends where the cell changes; NULL: no cells. apart: schemes of the same axis
 * are separate groups even if one reads the other. direct: groups have the word ":direct". The
 * caller closes *out. Returns MAFAT_OK, MAFAT_ENOMEM or MAFAT_EINVAL (two groups would read each
 * other's outputs). */
int mafat_schemes_apply(struct mafat_spec **out, const struct mafat_network *network, int n_layers,
                        const struct mafat_scheme *const *schemes, int n, const int *cell_of,
                        bool apart, bool direct, struct mafat_heap *heap);

/* True if the scheme splits that layer. */
bool mafat_scheme_holds(const struct mafat_scheme *scheme, int layer);
/* True if both schemes split the same layer along the same axis. No plan can have both. */
bool mafat_schemes_clash(const struct mafat_scheme *a, const struct mafat_scheme *b);

#endif
