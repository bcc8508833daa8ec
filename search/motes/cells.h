/* Divides a network into cells, which the search "motes" works on one by one. A cell ends at a
 * place: a join, where several tensors are read as one, or a bottleneck, a tensor that all data
 * pass through and that is no larger than the ones before and after it. A layer belongs to the cell
 * that ends at the first place on all paths from the layer to the network's output. Layers after
 * the place also join the cell if fewer bytes are then read outside it, such as convolutions that
 * reduce the channels of its output.
 *
 * Included by search/motes/motes.c. Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_CELLS_H
#define MAFAT_SEARCH_MOTES_CELLS_H

#include "base/error.h"
#include "base/heap.h"
#include "network/network.h"

struct mafat_cells {
  int n;
  int *cell_of; /* [layer]: its cell, 0 ... n - 1 in the order of the cells' ends; -1: an alias */
  struct mafat_heap *heap;
};

/* Finds the cells of the first n_layers. The caller closes *out. Returns MAFAT_OK or
 * MAFAT_ENOMEM. */
int mafat_cells_find(struct mafat_cells **out, const struct mafat_network *network, int n_layers,
                     struct mafat_heap *heap);
/* Parses a list of the layers with which cells begin, rising, such as "2,43,92". Layers before the
 * first number are a cell, too. The caller closes *out. Returns MAFAT_OK, MAFAT_ENOMEM or
 * MAFAT_EINVAL. */
int mafat_cells_read(struct mafat_cells **out, const char *text,
                     const struct mafat_network *network, int n_layers, struct mafat_heap *heap,
                     struct mafat_diagnostic *d);
void mafat_cells_close(struct mafat_cells **cells);

#endif
