/* Makes specs for several devices (ranks): distributes layers by one of several strategies
 * (sharing.h). Included by api/rank_choice.h; called by api/ (rank_choice.c, rank_dry_run.c).
 * Allocates from request->options->heap. */
#ifndef MAFAT_SEARCH_RANKS_RANK_SPECS_H
#define MAFAT_SEARCH_RANKS_RANK_SPECS_H

#include "predictor/plan/plan.h"
#include "search/ranks/sharing.h"

enum mafat_rank_strategy {
  /* layers before the switch layer (sharing.h) are split by rows, later layers by the schemes that
   * exchange the fewest values */
  MAFAT_RANKS_DEEPERTHINGS,
  /* layers before the switch layer are split by rows, later layers by their output channels */
  MAFAT_RANKS_FDTO,
  MAFAT_RANKS_LAYERS,       /* no layer is split; each runs on one rank */
  /* a mixture of these strategies (struct mafat_rank_mix); api/ chooses the fastest mixture that
   * exchanges no more values than MAFAT_RANKS_DEEPERTHINGS */
  MAFAT_RANKS_BEST,
  MAFAT_N_RANK_STRATEGIES
};

/* A mixture of strategies. The first layers are split by rows, or by rows and columns. Later layers
 * are split by their weights; or (runs) neighboring layers run as a whole on the same rank, except
 * large layers, which are split by output channels. Only layers with weights are counted. */
struct mafat_rank_mix {
  int rows;             /* number of layers that are split by rows */
  int columns; /* number of parts along columns, a divisor of the number of ranks; 1: only rows are
                  split */
  bool runs;   /* later layers run as a whole. The next members are only used if this is true */
  uint64_t capacity[MAFAT_MOST_RANKS]; /* [rank]: number of values that it may hold */
  uint64_t large;                  /* a layer with more weights than this is large */
  int n_parts; /* number of parts of a large layer, at most n_ranks; 1: it is not split */
};

struct mafat_rank_request {
  const struct mafat_network *network;
  int n_layers, n_ranks;
  const struct mafat_plan_options *options; /* only_rank is ignored */
  enum mafat_rank_strategy strategy;
  const struct mafat_rank_mix *mix; /* for MAFAT_RANKS_BEST; else NULL */
  struct mafat_group_weights weights; /* placement of the spec's weights */
  bool by_work;         /* for MAFAT_RANKS_LAYERS: balance multiplications; false: memory */
  const double *shares; /* (n_ranks) each rank's share of the work; 1 on average; NULL: all equal */
};

/* How layers were distributed, for a report. */
struct mafat_rank_sharing {
  struct mafat_rank_layers layers; /* layers with weights */
  int from; /* index in `layers` of the first layer that is not split by rows; 0 for
               MAFAT_RANKS_LAYERS */
  enum mafat_weight_sharing *schemes;      /* [index in `layers`]: valid from `from` on */
};

/* Returns "deeperthings", "fdto", "layers" or "best". */
const char *mafat_rank_strategy_name(enum mafat_rank_strategy strategy);

/* Makes a spec with one split group. A layer that cannot be split as the strategy wants runs as a
 * whole on rank 0. The caller closes *out and *sharing; after an error there is nothing to close.
 * Returns MAFAT_OK, MAFAT_ENOMEM or MAFAT_ELIMIT (sizes overflow, or capacities are too small). */
int mafat_rank_spec(struct mafat_spec **out, struct mafat_rank_sharing *sharing,
                    const struct mafat_rank_request *request, struct mafat_diagnostic *d);
void mafat_rank_sharing_close(struct mafat_rank_sharing *sharing);

#endif
