/* The axis connecting graph of MOTES. Its vertices are the axes of operators (layers and inputs of
 * the network); axes that can only be split together are in one component. Edges follow from a
 * layer's kind (network/kind.h) and from the part of its input that a part of its output needs.
 * Included by search/motes/schemes.c. Allocates from the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_ACG_H
#define MAFAT_SEARCH_MOTES_ACG_H

#include "base/heap.h"
#include "network/network.h"

/* Axes of an operator. H, W and C are those of its output. REDUCED is the channels of its input, if
 * it sums over them. REDUCED_H and REDUCED_W are the rows and columns of its input, if each output
 * needs all of them. */
enum mafat_acg_axis {
  MAFAT_ACG_REDUCED, MAFAT_ACG_H, MAFAT_ACG_W, MAFAT_ACG_C, MAFAT_ACG_REDUCED_H,
  MAFAT_ACG_REDUCED_W,
  MAFAT_N_ACG_AXES
};

struct mafat_acg {
  int n_operators; /* the network's layers, then its inputs */
  /* [operator * MAFAT_N_ACG_AXES + axis]: smallest vertex of its component; -1: the operator has no
   * such axis */
  int *part;
  struct mafat_heap *heap;
};

/* Makes the graph of the first n_layers layers and the network's inputs. within: [layer]: true if
 * its reads make edges; NULL: all do. The caller closes *out. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_acg_make(struct mafat_acg **out, const struct mafat_network *network, int n_layers,
                   const bool *within, struct mafat_heap *heap);
void mafat_acg_close(struct mafat_acg **acg);

/* Returns the component of an operator's axis: the number of its smallest vertex; -1: the operator
 * has no such axis. */
static inline int mafat_acg_part(const struct mafat_acg *acg, int operator,
                                 enum mafat_acg_axis axis)
{
  return acg->part[operator * MAFAT_N_ACG_AXES + axis];
}

/* Number of components with more than one vertex. Called by tests only. */
int mafat_acg_count(const struct mafat_acg *acg);

#endif
