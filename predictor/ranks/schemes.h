/* Traffic and memory of a network on several equal devices (ranks), by the formulas of DeeperThings
 * (Stahl 2024, chapter 5). Early layers are shared by maps: each device computes some tiles and
 * keeps all weights. Later layers are shared by weights: each device keeps whole maps and some
 * weights. The unit of results is one value of a map or one weight; results "in shares" are
 * multiplied by n_ranks, so that nothing is rounded. Used by search/ranks, api/rank_dry_run.c. */
#ifndef MAFAT_PREDICTOR_RANKS_SCHEMES_H
#define MAFAT_PREDICTOR_RANKS_SCHEMES_H

#include "base/heap.h"
#include "network/network.h"
#include "predictor/plan/spec.h"

/* How the weights of a layer are divided among ranks. The names in the thesis are FDTO etc. */
enum mafat_weight_sharing {
  MAFAT_FAN_OUT,   /* FDTO: by output channels; every rank has the whole input */
  MAFAT_FAN_IN,    /* FDTI: by input channels; the root adds the sums of all ranks */
  MAFAT_FUSED_OUT, /* FDT1: a fan-out whose outputs stay on the ranks that computed them */
  MAFAT_FUSED_IN,  /* FDT2: the fan-in that follows it and reads these outputs */
  MAFAT_N_SCHEMES
};

/* A layer in these formulas. */
struct mafat_rank_layer {
  int layer; /* its number */
  uint64_t in, out, weights, multiplications; /* numbers of input values, of output values, etc. */
};

struct mafat_rank_layers {
  struct mafat_heap *heap;
  struct mafat_rank_layer *list;
  int n;
};

/* Lists those of the first n_layers layers that have weights, in memory from `heap`. `connected`
 * false: without fully connected layers, as in the published tables. MAFAT_ENOMEM; MAFAT_ELIMIT:
 * sizes overflow. The caller closes the list, also after a failure. */
int mafat_rank_layers_find(struct mafat_rank_layers *out, const struct mafat_network *n,
                           int n_layers, bool connected, struct mafat_heap *heap);
void mafat_rank_layers_close(struct mafat_rank_layers *layers);

/* Returns "fan-out", "fan-in", "fused-out" or "fused-in". */
const char *mafat_scheme_name(enum mafat_weight_sharing scheme);

/* True if the output of a layer goes to all ranks, because the next layer reads it there; false:
 * only the root gathers it. scheme, next: of the layer and of the next layer. */
bool mafat_scheme_reuses(enum mafat_weight_sharing scheme, enum mafat_weight_sharing next);

/* Traffic between ranks for one layer, in shares. before: all ranks already have the layer's input.
 * after: all ranks get its output (mafat_scheme_reuses). */
uint64_t mafat_scheme_exchange(enum mafat_weight_sharing scheme, const struct mafat_rank_layer *l,
                               int n_ranks, bool before, bool after);
/* Traffic between ranks for a sequence of layers, in shares. schemes: [index in list]. */
uint64_t mafat_schemes_exchange(const enum mafat_weight_sharing *schemes,
                                const struct mafat_rank_layer *list, int n, int n_ranks);

/* Memory of each rank, in shares, if the layers before list[from] are shared by maps and the others
 * by weights. It is the sum of all weights of the layers shared by maps, the rank's share of the
 * other weights, and the largest input plus output of a layer. In layers shared by maps, only the
 * rank's share of input and output counts. */
uint64_t mafat_ranks_hold(const struct mafat_rank_layer *list, int n, int from, int n_ranks);
/* Memory of a rank that runs the layers [begin, end) whole, in values. */
uint64_t mafat_ranks_hold_whole(const struct mafat_rank_layer *list, int begin, int end);
/* Values that all devices together send to the next device, if device r runs the layers from
 * bounds[r] up to, but not including, bounds[r + 1]. bounds: (n_ranks + 1). */
uint64_t mafat_ranks_hand_on(const struct mafat_rank_layer *list, const int *bounds, int n_ranks);

#endif
