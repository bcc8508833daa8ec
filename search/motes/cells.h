/* Divides a network into cells. The search "motes" works on one cell at a time. Included by
 * search/motes/motes.c. Allocates from the caller's heap.
 *
 * A cell ends at a join, where several tensors are read as one, or at a bottleneck, a tensor
 * through which all data pass and that is no larger than the ones before and after it. Both are
 * called places here. A layer belongs to the cell that ends at the first place that all paths from
 * the layer to the network's output have in common. Layers after the place are added to the cell if
 * fewer bytes are then read outside it; for example, convolutions that reduce the channels of the
 * place's output. */
#ifndef MAFAT_SEARCH_MOTES_CELLS_H
#define MAFAT_SEARCH_MOTES_CELLS_H

#include "base/error.h"
#include "base/heap.h"
#include "network/network.h"

struct mafat_cells {
  int n;
  int *cell_of; /* [layer]: number of its cell; -1: the layer is an alias. Cells are numbered from 0
                   in the order of their ends */
  struct mafat_heap *heap;
};

/* Finds the cells of the first n_layers layers. The caller closes *out. Returns MAFAT_OK or
 * MAFAT_ENOMEM. */
int mafat_cells_find(struct mafat_cells **out, const struct mafat_network *network, int n_layers,
                     struct mafat_heap *heap);
/* Makes cells from a list of the layers with which they begin, in ascending order, as "2,43,92".
 * The layers before the first of these are a cell, too. The caller closes *out. Returns MAFAT_OK,
 * MAFAT_ENOMEM or MAFAT_EINVAL (invalid text). */
int mafat_cells_read(struct mafat_cells **out, const char *text,
                     const struct mafat_network *network, int n_layers, struct mafat_heap *heap,
                     struct mafat_diagnostic *d);
void mafat_cells_close(struct mafat_cells **cells);

#endif
