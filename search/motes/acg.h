/* MOTES' axis connecting graph: finds which axes of which tensors can only be split together.
 * Connections follow from a layer's kind (network/kind.h) and from the inputs that a part of its
 * output reads. Included by search/motes/schemes.c. Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_ACG_H
#define MAFAT_SEARCH_MOTES_ACG_H

#include "base/heap.h"
#include "network/network.h"

/* Axes of an operator: those of its output, and those of its input that it reduces. The latter are
 * summed channels, and rows and columns of layers that need whole maps. */
enum mafat_acg_axis {
  MAFAT_ACG_REDUCED, MAFAT_ACG_H, MAFAT_ACG_W, MAFAT_ACG_C, MAFAT_ACG_REDUCED_H,
  MAFAT_ACG_REDUCED_W,
  MAFAT_N_ACG_AXES
};

struct mafat_acg {
  int n_operators; /* layers that are run, and all inputs after the network's layers */
  /* [operator * MAFAT_N_ACG_AXES + axis]: smallest vertex of its component; -1: not a vertex */
  int *part;
  struct mafat_heap *heap;
};

/* Makes the graph of the first n_layers, or of those `within` (NULL: all) and their operands.
 * MAFAT_ENOMEM. */
int mafat_acg_make(struct mafat_acg **out, const struct mafat_network *network, int n_layers,
                   const bool *within, struct mafat_heap *heap);
void mafat_acg_close(struct mafat_acg **acg);

static inline int mafat_acg_part(const struct mafat_acg *acg, int operator,
                                 enum mafat_acg_axis axis)
{
  return acg->part[operator * MAFAT_N_ACG_AXES + axis];
}

/* Number of components with more than one vertex. */
int mafat_acg_count(const struct mafat_acg *acg);

#endif
