/* Cells of a network, which MOTES opens one after the other: layers whose outputs all go through one place.
 *
 * A place is a join, where several tensors are read as one; or a tensor that everything goes through, and that is no larger than
 * the next ones of the kind before and behind it. A layer is of the cell that ends at the first place that all ways from it lead
 * through. What reads a cell's end, and puts out less than that, is of it, too: convolutions that squeeze it for the next cells. */
#ifndef MAFAT_SEARCH_MOTES_CELLS_H
#define MAFAT_SEARCH_MOTES_CELLS_H

#include "base/error.h"
#include "base/heap.h"
#include "network/network.h"

struct mafat_cells {
  int n;
  int *cell_of; /* [layer]; -1: it only renames. From 0 on, by their ends */
  struct mafat_heap *heap;
};

/* Of the first n_layers. MAFAT_ENOMEM. */
int mafat_cells_find(struct mafat_cells **out, const struct mafat_network *network, int n_layers, struct mafat_heap *heap);
/* Given by the layers that they begin with, as in "2,43,92"; what comes before the first of them is a cell, too. MAFAT_EINVAL. */
int mafat_cells_read(struct mafat_cells **out, const char *text, const struct mafat_network *network, int n_layers,
                     struct mafat_heap *heap, struct mafat_diagnostic *d);
void mafat_cells_close(struct mafat_cells **cells);

#endif
