/* Finds the partition schemes of a cell, a part of the network (cells.h). Included by
 * search/motes/motes.c. Allocates from families->heap.
 *
 * A scheme is a set of layers that are split along one axis. The axes of these layers are in one
 * component of the cell's axis connecting graph (acg.h). This component also contains an axis of a
 * bottleneck, a tensor that is in use at the peak of memory. In a scheme along channels, only the
 * last layer may sum over the split channels. In a scheme along rows or columns, no layer needs
 * whole maps. Each component gives a scheme of all its layers, and schemes of the layers near a
 * bottleneck. */
#ifndef MAFAT_SEARCH_MOTES_SCHEMES_H
#define MAFAT_SEARCH_MOTES_SCHEMES_H

#include "search/motes/apply.h"

enum {
  MAFAT_MOST_FAMILIES = 24, /* most families of a cell */
  MAFAT_MOST_NUMBERS = 16,  /* most values of the number of parts that are tried for one family */
  MAFAT_MOST_MOTES_PARTS = 64 /* most parts of a layer */
};

/* Schemes that differ only in their number of parts. */
struct mafat_scheme_family {
  struct mafat_scheme scheme; /* its n is 0 */
  /* (n_numbers) numbers of parts to try, in ascending order */
  int numbers[MAFAT_MOST_NUMBERS], n_numbers;
};

struct mafat_scheme_families {
  /* (n) of each component, the family with the most layers comes first */
  struct mafat_scheme_family list[MAFAT_MOST_FAMILIES];
  int n;
  struct mafat_heap *heap;
};

/* Adds the families of a cell to the list, unless they are in it already. within: [layer]: it is in
 * the cell. bottlenecks: [tensor]: it is in use at the peak. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_schemes_find(struct mafat_scheme_families *out, const struct mafat_network *network,
                       int n_layers, const bool *within, const bool *bottlenecks);
void mafat_schemes_free(struct mafat_scheme_families *families);

#endif
