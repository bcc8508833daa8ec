/* Inputs of a search. Included by api/, search/best, search/common, search/fdt and search/motes.
 * Declares types and constants only. */
#ifndef MAFAT_SEARCH_COMMON_REQUEST_H
#define MAFAT_SEARCH_COMMON_REQUEST_H

#include "predictor/cost/calibration.h"
#include "predictor/plan/plan.h"
#include "predictor/cost/predict.h"

/* Measures plans by running them. */
struct mafat_search_timer {
  /* Times a plan. MAFAT_ELIMIT: too little memory to run it, and the plan is skipped; other errors
   * end the search. */
  int (*time)(void *context, const struct mafat_plan *plan, const struct mafat_layout *layout,
              double *ms, struct mafat_diagnostic *d);
  void *context;
};

struct mafat_search_request {
  const struct mafat_network *network;
  int n_layers;
  const struct mafat_plan_options *options; /* algorithm MAFAT_AUTO: the search chooses per layer */
  const struct mafat_footprint *footprint;
  const struct mafat_calibration *calibration;
  int most_threads; /* the search may choose up to this many; 0: the options' number */
  double plan_seconds; /* time limit; 0: the default effort */
  const char *words; /* parameters of the search (search.h); NULL: defaults */
  struct mafat_search_timer timer; /* function NULL: milliseconds are predicted */
  long long evaluations; /* effort, in plans times their layers, without plan_ends; 0: default */
  /* deadline on mafat_effort_now's clock, set when the search begins; 0: none (effort.h) */
  long long plan_ends;
  /* find only the plan of the least arena (search/least/least.h), for one thread if the search
   * chooses threads */
  bool least;
};

#endif
