/* MOTES' axis connecting graph: which axes of which tensors can only be cut together. What connects them follows from
 * what each layer's kind says of the parts that a step of it may have (network/kind.h), and from what a part of its output
 * reads. */
#ifndef MAFAT_SEARCH_MOTES_ACG_H
#define MAFAT_SEARCH_MOTES_ACG_H

#include "base/heap.h"
#include "network/network.h"

/* Axes of an operator: of its output; and those of its input that it reduces: the channels that it sums, and of what takes
 * whole maps, rows and columns. */
enum mafat_acg_axis { MAFAT_ACG_REDUCED, MAFAT_ACG_H, MAFAT_ACG_W, MAFAT_ACG_C, MAFAT_ACG_REDUCED_H, MAFAT_ACG_REDUCED_W, MAFAT_N_ACG_AXES };

struct mafat_acg {
  int n_operators; /* layers that are run, all inputs behind the network's layers */
  int *part;       /* [operator * MAFAT_N_ACG_AXES + axis]: the least vertex that it is connected with; -1: it is none */
  struct mafat_heap *heap;
};

/* Of the first n_layers, or of those `within` (NULL: all) and what they read. MAFAT_ENOMEM. */
int mafat_acg_make(struct mafat_acg **out, const struct mafat_network *network, int n_layers, const bool *within, struct mafat_heap *heap);
void mafat_acg_close(struct mafat_acg **acg);

static inline int mafat_acg_part(const struct mafat_acg *acg, int operator, enum mafat_acg_axis axis)
{
  return acg->part[operator * MAFAT_N_ACG_AXES + axis];
}

/* How many parts have more than one vertex. */
int mafat_acg_count(const struct mafat_acg *acg);

#endif
