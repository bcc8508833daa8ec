/* Orders all layers so that neighboring layers make good groups: layers that free more bytes than
 * their outputs have come as early as possible, so that few bytes are needed across a cut between
 * groups. Included by search/least/grouping.h and search/least/least.c; called by search/best.
 * Allocates from the caller's heap. */
#ifndef MAFAT_SEARCH_LEAST_SEQUENCE_H
#define MAFAT_SEARCH_LEAST_SEQUENCE_H

#include "base/heap.h"
#include "network/network.h"

struct mafat_sequence {
  struct mafat_heap *heap;
  int n_layers;
  int *layers;      /* (n_layers) layers in the new order */
  /* [position], (n_layers + 1): bytes of maps that are made before the position and read at it or
   * after it; without padding */
  double *crossing;
};

/* Makes the sequence from the order of the file. Two kinds of layers move to just after their
 * operands: layers that free more bytes than their outputs have, and layers whose reader needs
 * their whole output for each row or column that it computes, like the keys and values of
 * attention. If `late`, layers that do not free more bytes than their outputs have, and that are
 * not read as a whole, like queries, move to just before their first reader. The caller closes
 * *out. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_sequence_make(struct mafat_sequence **out, const struct mafat_network *n, int n_layers,
                        bool late, struct mafat_heap *heap);
/* Makes a sequence with the given order, in which every layer must come after its operands. The
 * caller closes *out. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_sequence_of(struct mafat_sequence **out, const struct mafat_network *n, const int *layers,
                      int n_layers, struct mafat_heap *heap);
void mafat_sequence_close(struct mafat_sequence **sequence);

/* Chooses up to `most` positions from 1 to n_layers - 1 as possible cuts: the most prominent local
 * minima of `crossing`, then other positions. The prominence of a minimum is how far `crossing`
 * rises on the way to the next lower position. Writes them in ascending order. Returns their
 * number; 0 if out of memory. */
int mafat_sequence_places(const struct mafat_sequence *s, int *places, int most);

#endif
