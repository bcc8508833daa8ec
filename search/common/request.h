/* The inputs of a search. Included by api/, search/best, search/common, search/fdt and
 * search/motes. Only declares types. */
#ifndef MAFAT_SEARCH_COMMON_REQUEST_H
#define MAFAT_SEARCH_COMMON_REQUEST_H

#include "predictor/cost/calibration.h"
#include "predictor/plan/plan.h"
#include "predictor/cost/predict.h"

/* Measures plans by running them. */
struct mafat_search_timer {
  /* Runs a plan and sets *ms. Returns MAFAT_ELIMIT if there is not enough memory to run it; then
   * the search skips the plan. Any other error ends the search. */
  int (*time)(void *context, const struct mafat_plan *plan, const struct mafat_layout *layout,
              double *ms, struct mafat_diagnostic *d);
  void *context;
};

struct mafat_search_request {
  const struct mafat_network *network;
  int n_layers; /* plans are for the first n_layers layers */
  /* options->algorithm MAFAT_AUTO: the search chooses an algorithm for each layer */
  const struct mafat_plan_options *options;
  const struct mafat_footprint *footprint;
  const struct mafat_calibration *calibration;
  int most_threads; /* the search chooses 1 ... most_threads; 0: it uses options->n_threads */
  double plan_seconds; /* time limit; 0: the search's default effort; below 0: the first plan for
                          budget_bytes is enough */
  const char *words; /* parameters of the search (search.h); NULL: defaults */
  /* the plan's budget and the machine's memory; both limit the memory that the search itself may
   * use; 0: no limit */
  size_t memory_bytes, machine_bytes;
  const char *memory_source; /* of memory_bytes, for messages */
  struct mafat_allowance *allowance; /* memory of the search; NULL: no limit */
  struct mafat_search_timer timer; /* timer.time NULL: milliseconds are predicted, not measured */
  /* largest number of evaluations (effort.h) if plan_ends is 0; 0: the search's default */
  long long evaluations;
  /* deadline, as a time of mafat_effort_now; the search sets it from plan_seconds; 0: none */
  long long plan_ends;
  /* find only the plan with the smallest arena (search/least/least.h); if the search chooses the
   * number of threads, it chooses 1 */
  bool least;
  /* budget for which search `best` wants a plan; if no plan that computes whole maps fits, it
   * returns none; 0: plans for all budgets */
  size_t budget_bytes;
  double most_ms; /* plans slower than this many milliseconds are not wanted; 0: no limit */
};

#endif
