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

/* Whole layers in runs, so that what the fullest device holds is least: bounds (n_ranks + 1), some runs may be empty. shares
 * (n_ranks): what each may hold beside the others, 1 on the average, by which its own is divided; NULL: they are equal. Returns
 * that in values. MAFAT_ENOMEM. */
int mafat_sharing_layers(int *bounds, uint64_t *most, const struct mafat_rank_layer *list, int n, int n_ranks, const double *shares,
                         struct mafat_heap *heap);

#endif
