/* Makes plans for several ranks: distributes layers by a method (sharing.h) and writes the result
 * as a spec. Included by api/rank_choice.h; called by api/ (rank_choice.c, rank_dry_run.c).
 * Allocates in the options' heap. */
#ifndef MAFAT_SEARCH_RANKS_RANK_SPECS_H
#define MAFAT_SEARCH_RANKS_RANK_SPECS_H

#include "predictor/plan/plan.h"
#include "search/ranks/sharing.h"

enum mafat_rank_strategy {
  MAFAT_RANKS_DEEPERTHINGS, /* rows up to the switch layer, then the schemes that exchange least */
  MAFAT_RANKS_FDTO,         /* the same, but every later layer by its outputs */
  MAFAT_RANKS_LAYERS,       /* whole layers */
  /* any of these, mixed (struct mafat_rank_mix): the fastest that exchanges no more than the
   * first */
  MAFAT_RANKS_BEST,
  MAFAT_N_RANK_STRATEGIES
};

/* A mixture: the first layers by rows, or by rows and columns. Later layers by weights, or in runs
 * of whole layers whose large layers are distributed by outputs. Only layers with weights count. */
struct mafat_rank_mix {
  int rows;             /* number of layers */
  /* parts of each row band; a divisor of the number of ranks, in equal shares; 1: rows are not
   * divided */
  int columns;
  bool runs;
  uint64_t capacity[MAFAT_MOST_RANKS]; /* runs: values that each rank may hold */
  uint64_t large;                  /* layers with more weights are large */
  int n_parts; /* parts of large layers, at most the number of ranks; 1: none is distributed */
};

struct mafat_rank_request {
  const struct mafat_network *network;
  int n_layers, n_ranks;
  const struct mafat_plan_options *options; /* only_rank is ignored */
  enum mafat_rank_strategy strategy;
  const struct mafat_rank_mix *mix; /* MAFAT_RANKS_BEST */
  struct mafat_group_weights weights; /* placement of the group's weights */
  bool by_work;         /* whole layers: balance operations, not memory */
  const double *shares; /* (n_ranks) relative shares, 1 on average; NULL: equal */
};

/* Result, for a report. */
struct mafat_rank_sharing {
  struct mafat_rank_layers layers; /* layers with weights */
  int from; /* index of the first one distributed by weights; not set for whole layers */
  enum mafat_weight_sharing *schemes;      /* (layers.n) valid from that index on */
};

const char *mafat_rank_strategy_name(enum mafat_rank_strategy strategy);

/* Makes a spec with one split group. Layers that cannot be split as needed run whole on rank 0.
 * Allocated in the options' heap. MAFAT_ENOMEM, MAFAT_ELIMIT. */
int mafat_rank_spec(struct mafat_spec **out, struct mafat_rank_sharing *sharing,
                    const struct mafat_rank_request *request, struct mafat_diagnostic *d);
void mafat_rank_sharing_close(struct mafat_rank_sharing *sharing);

#endif
