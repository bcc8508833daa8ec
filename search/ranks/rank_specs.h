/* Plans for several ranks: what a way of sharing (sharing.h) finds, as a spec that a network can have. */
#ifndef MAFAT_SEARCH_RANKS_RANK_SPECS_H
#define MAFAT_SEARCH_RANKS_RANK_SPECS_H

#include "predictor/plan/plan.h"
#include "search/ranks/sharing.h"

enum mafat_rank_way {
  MAFAT_RANKS_DEEPERTHINGS, /* rows up to the switch layer, from there on the schemes that exchange least */
  MAFAT_RANKS_FDTO,         /* the same, but every layer by its outputs */
  MAFAT_RANKS_LAYERS,       /* whole layers */
  MAFAT_RANKS_BEST,         /* any of these, mixed (struct mafat_rank_mix): what is fastest of those that exchange no more than the first */
  MAFAT_N_RANK_WAYS
};

/* The first layers by rows, or by rows and columns; those behind them by weights, or in runs of whole layers, the large ones of which are shared out by outputs.
 * Layers are counted among those with weights. */
struct mafat_rank_mix {
  int rows;             /* so many layers */
  int columns;          /* of these in each of their rows: a divisor of the number of ranks, of equal shares; 1: rows go all across */
  bool runs;
  uint64_t room[MAFAT_MOST_RANKS]; /* values that each rank may hold, of runs */
  uint64_t large;                  /* layers of more weights are */
  int n_parts;                     /* that these have, at most as many as there are ranks; 1: none is shared out */
};

struct mafat_rank_request {
  const struct mafat_network *network;
  int n_layers, n_ranks;
  const struct mafat_plan_options *options; /* only_rank is not looked at */
  enum mafat_rank_way way;
  const struct mafat_rank_mix *mix; /* MAFAT_RANKS_BEST */
  struct mafat_group_weights weights; /* of the group */
  bool by_work;         /* whole layers: to each rank as much to compute, not to hold */
  const double *shares; /* (n_ranks) of each layer, 1 on the average; NULL: all are equal */
};

/* What was found, for a report. */
struct mafat_rank_sharing {
  struct mafat_rank_layers layers; /* that count: with weights */
  int from;                        /* of them the first that is shared by weights; of whole layers not looked at */
  enum mafat_scheme *schemes;      /* (layers.n) from there on */
};

const char *mafat_rank_way_name(enum mafat_rank_way way);

/* The spec's only group is split; layers that cannot be cut as they should run whole, on rank 0. It lies in the options' heap.
 * MAFAT_ENOMEM, MAFAT_ELIMIT. */
int mafat_rank_spec(struct mafat_spec **out, struct mafat_rank_sharing *sharing, const struct mafat_rank_request *request,
                    struct mafat_diagnostic *d);
void mafat_rank_sharing_close(struct mafat_rank_sharing *sharing);

#endif
