/* Distributes a network to several devices: solves the two integer programs of DeeperThings
 * exactly, by dynamic programming, and distributes whole layers. Costs are in
 * predictor/ranks/schemes.h. Included by search/ranks/rank_specs.h. Temporary memory is in the
 * caller's heap. */
#ifndef MAFAT_SEARCH_RANKS_SHARING_H
#define MAFAT_SEARCH_RANKS_SHARING_H

#include "predictor/ranks/schemes.h"

/* First program, equations (5.12) to (5.15): the switch layer, from which on weights are
 * distributed, so that a rank holds the fewest values; the earliest of several. n: no weights are
 * distributed. */
int mafat_sharing_switch(const struct mafat_rank_layer *list, int n, int n_ranks);

/* Second program, equations (5.16) to (5.23): the schemes (n) of layers that exchange the fewest
 * values; ties go to the lowest scheme numbers of the first layers. *exchange: values times
 * n_ranks. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_sharing_schemes(enum mafat_weight_sharing *schemes, uint64_t *exchange,
                          const struct mafat_rank_layer *list, int n, int n_ranks,
                          struct mafat_heap *heap);

/* How to measure a device's load. */
struct mafat_sharing_measure {
  bool by_work;         /* true: multiplications; false: values that it holds */
  /* (n_ranks) relative shares, 1 on average, by which a load is divided; NULL: equal */
  const double *shares;
};

/* Distributes runs of whole layers so that the largest load of a device is as small as possible.
 * bounds (n_ranks + 1): device r has layers bounds[r] ... bounds[r + 1] - 1, perhaps none. *most:
 * the largest load. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_sharing_layers(int *bounds, uint64_t *most, const struct mafat_rank_layer *list, int n,
                         int n_ranks, const struct mafat_sharing_measure *measure,
                         struct mafat_heap *heap);

/* Distributes runs of whole layers so that the fewest values cross between ranks. No rank exceeds
 * its capacity, in values. The network's input and output are on rank 0. Runs are in the order of
 * the ranks. rank[layer]: its rank; -1 if shared[layer], which all ranks compute together.
 * *crosses: values that cross. Returns MAFAT_OK, MAFAT_ENOMEM or MAFAT_ELIMIT (capacities are too
 * small). */
int mafat_sharing_runs(int *rank, uint64_t *crosses, const struct mafat_rank_layer *list,
                       const bool *shared, int n, int n_ranks, const uint64_t *capacity,
                       struct mafat_heap *heap);

#endif
