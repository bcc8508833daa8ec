/* Finds the partition schemes of a cell. A scheme is a set of layers that are split along one axis.
 * All are in one component of the cell's axis connecting graph (acg.h), which also contains an axis
 * of a bottleneck.
 *
 * In a scheme along channels only the last layer may sum over the split channels. In one along rows
 * or columns no layer needs whole maps. Each component gives a scheme of all its layers, and
 * schemes of the layers near a bottleneck.
 *
 * Included by search/motes/motes.c. Allocates in families->heap. */
#ifndef MAFAT_SEARCH_MOTES_SCHEMES_H
#define MAFAT_SEARCH_MOTES_SCHEMES_H

#include "search/motes/apply.h"

enum {
  MAFAT_MOST_FAMILIES = 24, /* families per cell */
  MAFAT_MOST_NUMBERS = 16,  /* numbers of parts to try */
  MAFAT_MOST_MOTES_PARTS = 64
};

/* Schemes that differ in their number of parts only. */
struct mafat_scheme_family {
  struct mafat_scheme scheme; /* n is 0 */
  int numbers[MAFAT_MOST_NUMBERS], n_numbers; /* (n_numbers) numbers of parts to try, rising */
};

struct mafat_scheme_families {
  /* (n) within each component, the family with the most layers first */
  struct mafat_scheme_family list[MAFAT_MOST_FAMILIES];
  int n;
  struct mafat_heap *heap;
};

/* Adds to the list the families that are not in it yet. within: [layer] in the cell. bottlenecks:
 * [tensor]. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_schemes_find(struct mafat_scheme_families *out, const struct mafat_network *network,
                       int n_layers, const bool *within, const bool *bottlenecks);
void mafat_schemes_free(struct mafat_scheme_families *families);

#endif
