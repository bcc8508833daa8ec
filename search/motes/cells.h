/* Finds the cells of a network. MOTES opens them one by one. A cell is a set of layers whose data
 * all pass through the same place on their way to the network's output.
 *
 * A place is a join, where several tensors are read as one, or a bottleneck. A bottleneck is a
 * tensor that all data pass through, no larger than the ones before and after it. A cell ends at
 * its place: a layer belongs to the first place that is on all paths from the layer to the output.
 * Layers after the end also join the cell if fewer bytes are then read outside it, such as
 * convolutions that squeeze its output for the next cells.
 *
 * Included by search/motes/motes.c. Allocates from the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_CELLS_H
#define MAFAT_SEARCH_MOTES_CELLS_H

#include "base/error.h"
#include "base/heap.h"
#include "network/network.h"

struct mafat_cells {
  int n;
  int *cell_of; /* [layer]: number of its cell, in order of the cells' ends; -1: an alias layer */
  struct mafat_heap *heap;
};

/* Finds the cells of the first n_layers. MAFAT_ENOMEM. */
int mafat_cells_find(struct mafat_cells **out, const struct mafat_network *network, int n_layers,
                     struct mafat_heap *heap);
/* Reads the first layers of cells from text such as "2,43,92"; layers before the first of them are
 * a cell, too. MAFAT_EINVAL. */
int mafat_cells_read(struct mafat_cells **out, const char *text,
                     const struct mafat_network *network, int n_layers, struct mafat_heap *heap,
                     struct mafat_diagnostic *d);
void mafat_cells_close(struct mafat_cells **cells);

#endif
