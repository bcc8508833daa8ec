/* Orders all layers so that neighbouring layers make good groups: layers that free more bytes than
 * they allocate come as early as possible, so that few bytes live across a cut between groups.
 * Included by search/least/grouping.h and search/least/least.c. Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_LEAST_SEQUENCE_H
#define MAFAT_SEARCH_LEAST_SEQUENCE_H

#include "base/heap.h"
#include "network/network.h"

struct mafat_sequence {
  struct mafat_heap *heap;
  int n_layers;
  int *layers;      /* (n_layers) in the new order */
  /* (n_layers + 1) bytes of the elements of maps that are made before a position and read at it or
   * after it */
  double *crossing;
};

/* Makes the sequence from the order of the file. Two kinds of layers move to just after their
 * operands: those that free more bytes than they allocate, and those whose reader needs their whole
 * output for each of its parts, like the keys and values of attention. If `late`, layers that do
 * not free more than they allocate, and that are read part by part, like queries, move to just
 * before their first reader. The caller closes *out. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_sequence_make(struct mafat_sequence **out, const struct mafat_network *n, int n_layers,
                        bool late, struct mafat_heap *heap);
/* Makes the sequence of a given order, in which every layer follows its operands. */
int mafat_sequence_of(struct mafat_sequence **out, const struct mafat_network *n, const int *layers,
                      int n_layers, struct mafat_heap *heap);
void mafat_sequence_close(struct mafat_sequence **sequence);

/* Selects up to `most` positions from 1 to n_layers - 1 as possible cuts, in rising order: the most
 * prominent local minima of `crossing`. The prominence of a minimum is how far `crossing` rises on
 * the way to the next lower position. Returns their number; 0 also if memory is short. */
int mafat_sequence_places(const struct mafat_sequence *s, int *places, int most);

#endif
