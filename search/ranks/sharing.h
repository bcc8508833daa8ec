/* How a network is shared out to several equal devices: the two integer programmes of DeeperThings, which have so few states that
 * dynamic programming solves them exactly, and whole layers to devices. What they cost: predictor/ranks/schemes.h. */
#ifndef MAFAT_SEARCH_RANKS_SHARING_H
#define MAFAT_SEARCH_RANKS_SHARING_H

#include "predictor/ranks/schemes.h"

/* The first programme, (5.12) to (5.15): from which layer on weights are shared, so that a rank holds least; n: nowhere. The
 * earliest of several. */
int mafat_sharing_switch(const struct mafat_rank_layer *list, int n, int n_ranks);

/* The second, (5.16) to (5.23): the scheme of each layer that exchanges least; of several the one whose first layers have the
 * lowest numbers. Returns Nths of values. MAFAT_ENOMEM. */
int mafat_sharing_schemes(enum mafat_scheme *schemes, uint64_t *exchange, const struct mafat_rank_layer *list, int n, int n_ranks,
                          struct mafat_heap *heap);

/* What of a device counts. */
struct mafat_sharing_measure {
  bool by_work;         /* its multiplications; else the values that it holds */
  const double *shares; /* (n_ranks) what each may have beside the others, 1 on the average, by which its own is divided; NULL: equal */
};

/* Whole layers in runs, so that what the fullest device has is least: bounds (n_ranks + 1), some runs may be empty. Returns that.
 * MAFAT_ENOMEM. */
int mafat_sharing_layers(int *bounds, uint64_t *most, const struct mafat_rank_layer *list, int n, int n_ranks,
                         const struct mafat_sharing_measure *measure, struct mafat_heap *heap);

/* Layers in runs, each whole on one rank, so that least crosses from rank to rank: none holds more values than it has room for, and the
 * first and the last map are on rank 0. rank (n): whose each layer is; shared[n]: layers that are shared out, -1. The ranks take turns in
 * their order. *crosses: values. MAFAT_ELIMIT: there is not enough room; MAFAT_ENOMEM. */
int mafat_sharing_runs(int *rank, uint64_t *crosses, const struct mafat_rank_layer *list, const bool *shared, int n, int n_ranks,
                       const uint64_t *room, struct mafat_heap *heap);

#endif
