/* The searches by name: a row for each. */
#ifndef MAFAT_SEARCH_SEARCHES_H
#define MAFAT_SEARCH_SEARCHES_H

#include "search/common/front.h"

struct mafat_search {
  const char *name;  /* "best" */
  const char *finds; /* what its plan is, for a table: "the best that is found" */
  const char *unfit; /* said behind a plan that does not fit: why no other is taken */
  bool one_plan;     /* the same for all budgets: there is nothing to list or to sweep */
  bool by_paper;     /* goes by the paper's predictor and a budget: no front (greedy.h) */
  bool timed;        /* looks on, or stops, as request->plan_seconds says */
  bool tiles;        /* goes by request->tiling and hill_climbing */
  bool beams;        /* goes by request->delta, beam, timer and cells */
  bool separable;    /* goes by request->by_transfers and fast_bytes */
  /* The front of the request, alone in a heap of its own. NULL: by_paper. Errors: best.h. */
  int (*find)(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d);
};

/* NULL where the index is beyond the last. */
const struct mafat_search *mafat_search_at(int index);

/* NULL: the first, which is what is taken where nobody names one. MAFAT_EINVAL: the message lists those there are. */
int mafat_search_named(const struct mafat_search **search, const char *name, struct mafat_diagnostic *d);

#endif
