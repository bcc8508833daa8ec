/* Which plan several ranks run, or would: what a way of sharing finds, with weights kept where they fit and streamed where they do
 * not, in shares by the ranks' speeds, or in others where those do not fit; or a given one. Every rank comes to the same, for nothing of it is measured,
 * but where the search has a time to end in. */
#ifndef MAFAT_API_RANK_CHOICE_H
#define MAFAT_API_RANK_CHOICE_H

#include "predictor/cost/rank_latency.h"
#include "search/ranks/rank_specs.h"

struct mafat_rank_choice_request {
  const struct mafat_network *network;
  int n_layers, n_ranks;
  const struct mafat_plan_options *options;
  const char *plan, *search; /* a plan's text; else a way by name, NULL: deeperthings */
  size_t memory_bytes;       /* of each rank: arena and kept weights; SIZE_MAX: no bound */
  const size_t *budgets;     /* (n_ranks) or each has its own; NULL */
  const double *speeds;      /* (n_ranks) above 0, beside the calibration's machine; NULL: all are as that one */
  double plan_seconds;       /* that "best" may take: what is found by then is taken; 0: until all has been looked at */
  bool ahead;                /* rank 0 begins pictures before it has what came of others: it has the first layers and makes no output */
  const struct mafat_calibration *calibration;
  struct mafat_rank_wire wire;
};

struct mafat_rank_choice {
  char *text;                       /* the plan's */
  enum mafat_rank_way way;
  bool given;                       /* no way was asked */
  struct mafat_rank_sharing sharing;
  struct mafat_rank_costs costs[MAFAT_MOST_RANKS];
  double total_ms;                  /* until rank 0 has what is put out */
  uint64_t exchanged_bytes;
};

/* MAFAT_ELIMIT where some rank has not enough memory: the diagnostic names it. MAFAT_EINVAL: no such plan, no such way.
 * It is to be closed even then. */
int mafat_rank_choose(struct mafat_rank_choice *c, const struct mafat_rank_choice_request *request, struct mafat_diagnostic *d);
void mafat_rank_choice_close(struct mafat_rank_choice *c);

#endif
