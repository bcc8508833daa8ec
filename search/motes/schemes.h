/* Finds the partition schemes of a cell. A scheme is a set of layers that are split along one axis.
 * They are in one component of the cell's axis connecting graph, which contains an axis of a
 * bottleneck.
 *
 * Two conditions hold. Each output of the layers is split, or is a sum over split channels; and a
 * layer that sums is such an output. So with channels only the last layer may sum, and with rows
 * and columns no layer needs whole maps. Each component gives a scheme of all its layers, and
 * schemes of the layers near a bottleneck.
 *
 * Included by search/motes/motes.c. Allocates in the families' heap. */
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
  /* rising: divisors of an extent and some between, up to the smallest extent */
  int numbers[MAFAT_MOST_NUMBERS], n_numbers;
};

struct mafat_scheme_families {
  /* (n) of each component that with most layers first */
  struct mafat_scheme_family list[MAFAT_MOST_FAMILIES];
  int n;
  struct mafat_heap *heap;
};

/* Adds new families to the list. within: layers of the cell; bottlenecks: [operator].
 * MAFAT_ENOMEM. */
int mafat_schemes_find(struct mafat_scheme_families *out, const struct mafat_network *network,
                       int n_layers, const bool *within, const bool *bottlenecks);
void mafat_schemes_free(struct mafat_scheme_families *families);

#endif
