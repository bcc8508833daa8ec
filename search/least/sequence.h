/* An order of all layers in which a run of them is a good group: what frees more than it takes comes as soon as it can, so
 * that little lies across the places between. */
#ifndef MAFAT_SEARCH_LEAST_SEQUENCE_H
#define MAFAT_SEARCH_LEAST_SEQUENCE_H

#include "base/heap.h"
#include "network/network.h"

struct mafat_sequence {
  struct mafat_heap *heap;
  int n_layers;
  int *layers;      /* (n_layers) */
  double *crossing; /* (n_layers + 1): bytes of maps, by their elements, that are made before a place and read behind it */
};

/* In the order of the file but for layers that free more than they take, which follow what they read, and those that are
 * read as a whole for each part of an output, as keys and values of attention are. `late`: what frees no more than it takes
 * and is read piece by piece, as queries are, comes just before who reads it. MAFAT_ENOMEM. */
int mafat_sequence_make(struct mafat_sequence **out, const struct mafat_network *n, int n_layers, bool late,
                        struct mafat_heap *heap);
/* In this order, of which every layer comes behind what it reads. */
int mafat_sequence_of(struct mafat_sequence **out, const struct mafat_network *n, const int *layers, int n_layers,
                      struct mafat_heap *heap);
void mafat_sequence_close(struct mafat_sequence **sequence);

/* Places from 1 to n_layers - 1 that little lies across, at most `most`, rising: those from which more lies across on the way to
 * a better one, whatever the way, than from others. Returns how many there are. */
int mafat_sequence_places(const struct mafat_sequence *s, int *places, int most);

#endif
