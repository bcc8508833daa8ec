/* What a search is asked for. */
#ifndef MAFAT_SEARCH_COMMON_REQUEST_H
#define MAFAT_SEARCH_COMMON_REQUEST_H

#include "predictor/cost/calibration.h"
#include "predictor/plan/plan.h"
#include "predictor/cost/predict.h"

/* How long a plan takes, found by running it. */
struct mafat_search_timer {
  /* MAFAT_ELIMIT: there is no room to run it in, and the plan is passed over; what else fails ends the search. */
  int (*time)(void *context, const struct mafat_plan *plan, const struct mafat_layout *layout, double *ms, struct mafat_diagnostic *d);
  void *context;
};

struct mafat_search_request {
  const struct mafat_network *network;
  int n_layers;
  const struct mafat_plan_options *options; /* algorithm: MAFAT_AUTO leaves the choice, layer by layer, to the search */
  const struct mafat_surroundings *around;
  const struct mafat_calibration *calibration;
  int most_threads; /* 0: as many as the options have; else up to so many, as the search finds best */
  double plan_seconds; /* that the search may take; 0: until it has looked at as much as is usual */
  const char *words; /* of the search (search.h); NULL: as usual */
  struct mafat_search_timer timer; /* what milliseconds are measured by; a function of NULL: they are predicted */
  long long looks; /* plans times their layers, where there is no plan_ends; 0: as usual */
  long long plan_ends; /* by mafat_effort_now, from when the search began; 0: never (effort.h) */
  bool least; /* one plan, that of the least arena (least.h), for one thread if the search is to find how many */
};

#endif
