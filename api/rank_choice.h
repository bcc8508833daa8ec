/* Chooses the plan that several ranks run: a given one, or one that a strategy finds. Weights are
 * kept if they fit, else streamed. Each rank's share of the work is proportional to its speed, if
 * that fits its memory. Nothing is measured, so every rank chooses the same plan; only a time limit
 * of the search can make plans differ. Included by api/model.c and api/rank_dry_run.c. Makes plans
 * and layouts of all ranks; allocates the choice, which mafat_rank_choice_close frees. */
#ifndef MAFAT_API_RANK_CHOICE_H
#define MAFAT_API_RANK_CHOICE_H

#include "predictor/cost/rank_latency.h"
#include "search/ranks/rank_specs.h"

struct mafat_rank_choice_request {
  const struct mafat_network *network;
  int n_layers, n_ranks;
  const struct mafat_plan_options *options;
  const char *plan, *search; /* text of a plan; else name of a strategy, NULL: deeperthings */
  size_t memory_bytes;       /* each rank's budget for arena and kept weights; SIZE_MAX: none */
  const size_t *budgets;     /* (n_ranks) budget of each rank, in place of memory_bytes; NULL:
                                none */
  const double *speeds;      /* (n_ranks) above 0, relative to the calibrated machine; NULL: 1 for
                                all */
  double plan_seconds;       /* time limit of "best"; 0: none */
  bool ahead;                /* rank 0 begins pictures before it has the results of earlier ones:
                                its layers must be the first, and none may be an output */
  const struct mafat_calibration *calibration;
  struct mafat_rank_wire wire;
};

struct mafat_rank_choice {
  char *text;                       /* the plan's text; owned */
  enum mafat_rank_strategy strategy;
  bool given;                       /* a plan was given */
  struct mafat_rank_sharing sharing;
  struct mafat_rank_costs costs[MAFAT_MOST_RANKS];
  double total_ms;                  /* until rank 0 has the output */
  uint64_t exchanged_bytes;
};

/* Chooses a plan. MAFAT_ELIMIT: a rank's memory is too small; the diagnostic names the rank.
 * MAFAT_EINVAL: no such plan or strategy. Close the choice also after a failure. */
int mafat_rank_choose(struct mafat_rank_choice *c, const struct mafat_rank_choice_request *request,
                      struct mafat_diagnostic *d);
void mafat_rank_choice_close(struct mafat_rank_choice *c);

#endif
