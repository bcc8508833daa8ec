/* Orders all layers so that consecutive layers make good groups: layers that free more than they
 * allocate come as early as possible, so that few bytes live across a cut. Included by
 * search/least/grouping.h and search/least/least.c. Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_LEAST_SEQUENCE_H
#define MAFAT_SEARCH_LEAST_SEQUENCE_H

#include "base/heap.h"
#include "network/network.h"

struct mafat_sequence {
  struct mafat_heap *heap;
  int n_layers;
  int *layers;      /* (n_layers) */
  /* (n_layers + 1) bytes of maps, by elements, that are made before a position and read after it */
  double *crossing;
};

/* Makes the order from the file's. Two kinds of layers move to just after their operands: those
 * that free more than they allocate, and those whose output is read whole for each part of a
 * reader, like the keys and values of attention. `late`: layers that free no more than they
 * allocate and are read part by part, like queries, move to just before their reader.
 * MAFAT_ENOMEM. */
int mafat_sequence_make(struct mafat_sequence **out, const struct mafat_network *n, int n_layers,
                        bool late, struct mafat_heap *heap);
/* Makes a sequence of this order, in which every layer follows its operands. */
int mafat_sequence_of(struct mafat_sequence **out, const struct mafat_network *n, const int *layers,
                      int n_layers, struct mafat_heap *heap);
void mafat_sequence_close(struct mafat_sequence **sequence);

/* Selects up to `most` positions in 1 to n_layers - 1 as cuts, rising: the most prominent minima of
 * `crossing`. Prominence is the rise on the way to any lower position. Returns their number. */
int mafat_sequence_places(const struct mafat_sequence *s, int *places, int most);

#endif
