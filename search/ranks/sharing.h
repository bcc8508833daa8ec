/* Distributes a network to several equal devices: the two integer programs of DeeperThings, solved
 * exactly by dynamic programming, and whole layers to devices. Costs: predictor/ranks/schemes.h.
 * Included by search/ranks/rank_specs.h. Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_RANKS_SHARING_H
#define MAFAT_SEARCH_RANKS_SHARING_H

#include "predictor/ranks/schemes.h"

/* First program, (5.12) to (5.15): the earliest layer from which to distribute weights so that a
 * rank holds least; n: none. */
int mafat_sharing_switch(const struct mafat_rank_layer *list, int n, int n_ranks);

/* Second program, (5.16) to (5.23): the schemes of layers that exchange least; ties go to the
 * lowest scheme numbers of the first layers. *exchange is in Nths of values. MAFAT_ENOMEM. */
int mafat_sharing_schemes(enum mafat_weight_sharing *schemes, uint64_t *exchange,
                          const struct mafat_rank_layer *list, int n, int n_ranks,
                          struct mafat_heap *heap);

/* Measure of a device's load. */
struct mafat_sharing_measure {
  bool by_work;         /* its multiplications; else its values */
  /* (n_ranks) relative shares, 1 on average, by which a load is divided; NULL: equal */
  const double *shares;
};

/* Distributes whole layers in runs so that the largest load is least: bounds (n_ranks + 1), runs
 * may be empty; *most: that load. MAFAT_ENOMEM. */
int mafat_sharing_layers(int *bounds, uint64_t *most, const struct mafat_rank_layer *list, int n,
                         int n_ranks, const struct mafat_sharing_measure *measure,
                         struct mafat_heap *heap);

/* Distributes runs of whole layers so that the least crosses between ranks. No rank exceeds its
 * capacity, and the first and last maps are on rank 0. Ranks take turns in order. rank (n): of each
 * layer; -1 for layers in shared[n], which all ranks share. *crosses: values. MAFAT_ELIMIT: not
 * enough room; MAFAT_ENOMEM. */
int mafat_sharing_runs(int *rank, uint64_t *crosses, const struct mafat_rank_layer *list,
                       const bool *shared, int n, int n_ranks, const uint64_t *capacity,
                       struct mafat_heap *heap);

#endif
