/* Distributes a network to several devices: solves the two integer programs of DeeperThings
 * exactly, by dynamic programming, and distributes layers that are not split. The costs are those
 * of predictor/ranks/schemes.h. Included by search/ranks/rank_specs.h. Temporary memory is in the
 * caller's heap. */
#ifndef MAFAT_SEARCH_RANKS_SHARING_H
#define MAFAT_SEARCH_RANKS_SHARING_H

#include "predictor/ranks/schemes.h"

/* First program, equations (5.12) to (5.15). Returns the index of the switch layer, n for none:
 * layers before it are shared by maps, it and later layers by weights (schemes.h). With this switch
 * layer, a rank holds the fewest values; among equals, it is the first such layer. */
int mafat_sharing_switch(const struct mafat_rank_layer *list, int n, int n_ranks);

/* Second program, equations (5.16) to (5.23). Fills schemes[n] with the schemes of the n layers for
 * which the ranks exchange the fewest values; among equals, with the lowest scheme numbers of the
 * first layers. *exchange: their traffic in shares (schemes.h). Returns MAFAT_OK or
 * MAFAT_ENOMEM. */
int mafat_sharing_schemes(enum mafat_weight_sharing *schemes, uint64_t *exchange,
                          const struct mafat_rank_layer *list, int n, int n_ranks,
                          struct mafat_heap *heap);

/* How to measure a device's load. */
struct mafat_sharing_measure {
  bool by_work;         /* by multiplications; false: by the number of values that it holds */
  /* (n_ranks) the load of a device is divided by its share; 1 on average; NULL: all 1 */
  const double *shares;
};

/* Gives each device a run of consecutive layers, so that the greatest load of a device is as small
 * as possible. Fills bounds[n_ranks + 1]: device r has the layers bounds[r] ... bounds[r + 1] - 1,
 * perhaps none. *most: the greatest load. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_sharing_layers(int *bounds, uint64_t *most, const struct mafat_rank_layer *list, int n,
                         int n_ranks, const struct mafat_sharing_measure *measure,
                         struct mafat_heap *heap);

/* Gives each rank a run of consecutive layers, in the order of the ranks, so that the fewest values
 * cross between ranks. No rank holds more than capacity[rank] values. The network's input and
 * output are on rank 0. Fills rank[n]: the rank of each layer; -1 for layers with shared[layer],
 * which all ranks compute together. *crosses: number of values that cross. Returns MAFAT_OK,
 * MAFAT_ENOMEM or MAFAT_ELIMIT (capacities are too small). */
int mafat_sharing_runs(int *rank, uint64_t *crosses, const struct mafat_rank_layer *list,
                       const bool *shared, int n, int n_ranks, const uint64_t *capacity,
                       struct mafat_heap *heap);

#endif
