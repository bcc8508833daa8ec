/* Partition schemes of a cell: layers that are cut along one axis, all in one part of the cell's axis connecting graph, which has an
 * axis of a bottleneck in it.
 *
 * Two conditions: each output of the layers is cut, or is a sum over what is cut; and what sums is such an output. So of channels
 * the last layer alone may sum, and of rows and columns nothing that takes whole maps is among them.
 *
 * Of each part of the graph there is one of all its layers, and some of those that are few steps from a bottleneck. */
#ifndef MAFAT_SEARCH_MOTES_SCHEMES_H
#define MAFAT_SEARCH_MOTES_SCHEMES_H

#include "search/motes/apply.h"

enum {
  MAFAT_MOST_FAMILIES = 24, /* of a cell */
  MAFAT_MOST_NUMBERS = 16,  /* of parts that are tried */
  MAFAT_MOST_MOTES_PARTS = 64
};

/* Schemes that differ by their numbers of parts. */
struct mafat_scheme_family {
  struct mafat_scheme scheme; /* n: 0 */
  int numbers[MAFAT_MOST_NUMBERS], n_numbers; /* rising: divisors of a length, at most the least of them */
};

struct mafat_scheme_families {
  struct mafat_scheme_family list[MAFAT_MOST_FAMILIES]; /* (n), of each part of the graph that of most layers first */
  int n;
  struct mafat_heap *heap;
};

/* within: the layers of the cell; bottlenecks: [operator]. Adds to the list what is not in it. MAFAT_ENOMEM. */
int mafat_schemes_find(struct mafat_scheme_families *out, const struct mafat_network *network, int n_layers, const bool *within,
                       const bool *bottlenecks);
void mafat_schemes_free(struct mafat_scheme_families *families);

#endif
