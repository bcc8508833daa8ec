/* Finds the cells of a network, which MOTES opens one by one: sets of layers whose outputs all pass
 * through one place.
 *
 * A place is a join, where several tensors are read as one, or a bottleneck. A bottleneck is a
 * tensor that all data pass through, no larger than the ones before and after it. A layer belongs
 * to the cell that ends at the first place that all paths from it lead through. Layers that read a
 * cell's end and make it smaller also belong to it: convolutions that squeeze it for the next
 * cells. */
#ifndef MAFAT_SEARCH_MOTES_CELLS_H
#define MAFAT_SEARCH_MOTES_CELLS_H

#include "base/error.h"
#include "base/heap.h"
#include "network/network.h"

struct mafat_cells {
  int n;
  int *cell_of; /* [layer]: from 0 on, by the cells' ends; -1: the layer only renames */
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
