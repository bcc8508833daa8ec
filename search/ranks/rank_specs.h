/* Makes specs for several ranks: distributes layers by one of several strategies (sharing.h).
 * Included by api/rank_choice.h; called by api/ (rank_choice.c, rank_dry_run.c). Allocates in
 * request->options->heap. */
#ifndef MAFAT_SEARCH_RANKS_RANK_SPECS_H
#define MAFAT_SEARCH_RANKS_RANK_SPECS_H

#include "predictor/plan/plan.h"
#include "search/ranks/sharing.h"

enum mafat_rank_strategy {
  /* layers before the switch layer split by rows, later ones by the schemes that exchange least */
  MAFAT_RANKS_DEEPERTHINGS,
  MAFAT_RANKS_FDTO,         /* the same, but each later layer split by its output channels */
  MAFAT_RANKS_LAYERS,       /* whole layers */
  /* a mixture of these (struct mafat_rank_mix); api/ chooses the fastest one that exchanges no more
   * than MAFAT_RANKS_DEEPERTHINGS */
  MAFAT_RANKS_BEST,
  MAFAT_N_RANK_STRATEGIES
};

/* A mixture of strategies. The first layers are split by rows, or by rows and columns. Later layers
 * are split by their weights, or run whole in runs of neighbouring layers, except large layers,
 * which are split by output channels. Numbers of layers count layers with weights only. */
struct mafat_rank_mix {
  int rows;             /* number of layers that are split by rows */
  int columns; /* parts along columns, a divisor of the number of ranks; 1: rows only */
  bool runs;   /* later layers run whole; the next three members are used only then */
  uint64_t capacity[MAFAT_MOST_RANKS]; /* [rank]: values that it may hold */
  uint64_t large;                  /* layers with more weights are large */
  int n_parts; /* parts of large layers, at most the number of ranks; 1: none is split */
};

struct mafat_rank_request {
  const struct mafat_network *network;
  int n_layers, n_ranks;
  const struct mafat_plan_options *options; /* only_rank is ignored */
  enum mafat_rank_strategy strategy;
  const struct mafat_rank_mix *mix; /* MAFAT_RANKS_BEST */
  struct mafat_group_weights weights; /* placement of the group's weights */
  bool by_work;         /* MAFAT_RANKS_LAYERS: balance operations; false: memory */
  const double *shares; /* (n_ranks) relative shares, 1 on average; NULL: equal */
};

/* How layers were distributed, for a report. */
struct mafat_rank_sharing {
  struct mafat_rank_layers layers; /* layers with weights */
  int from; /* index of the first layer after those split by rows; 0 for MAFAT_RANKS_LAYERS */
  enum mafat_weight_sharing *schemes;      /* (layers.n) valid from that index on */
};

const char *mafat_rank_strategy_name(enum mafat_rank_strategy strategy);

/* Makes a spec with one split group. Layers that cannot be split as intended run whole on rank 0.
 * The caller closes *out and *sharing; after an error both are empty. Returns MAFAT_OK,
 * MAFAT_ENOMEM or MAFAT_ELIMIT (sizes overflow, or capacities are too small). */
int mafat_rank_spec(struct mafat_spec **out, struct mafat_rank_sharing *sharing,
                    const struct mafat_rank_request *request, struct mafat_diagnostic *d);
void mafat_rank_sharing_close(struct mafat_rank_sharing *sharing);

#endif
