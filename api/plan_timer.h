/* Times plans by running them, for a search that measures on this machine. Plans run in turn, each
 * alone in its own arena, with weights read once and kept, on inputs of zeros. Included by
 * api/choose.h; called by api/choose.c for searches. Maps arenas, reads weights and starts
 * threads. */
#ifndef MAFAT_API_PLAN_TIMER_H
#define MAFAT_API_PLAN_TIMER_H

#include "predictor/cost/predict.h"
#include "runner/kernels/kernels.h"
#include "search/common/request.h"

struct mafat_executor;

/* Everything stays the caller's until the timer is closed. */
struct mafat_plan_timer_options {
  const struct mafat_network *network;
  int n_layers;
  struct mafat_model_source *weights;
  const struct mafat_kernels *kernels;
  const struct mafat_footprint *footprint; /* process footprint of a plan's prediction */
  size_t budget_bytes;       /* allowed charge while a plan is timed */
  const char *budget_source; /* for messages */
  /* Clock, and milliseconds that the last run spent on its input, replaced in tests; NULL: the
   * machine's, the executor's. */
  double (*now_ms)(void);
  double (*input_ms)(const struct mafat_executor *e);
};

struct mafat_plan_timer;

/* MAFAT_ENOMEM; MAFAT_EUNSUPPORTED: a layer cannot be run. */
int mafat_plan_timer_open(struct mafat_plan_timer **out,
                          const struct mafat_plan_timer_options *options,
                          struct mafat_diagnostic *d);
void mafat_plan_timer_close(struct mafat_plan_timer **timer);

/* Timer for a search's request. It returns the minimum of several runs of a plan: the first one
 * touches pages, others may be interrupted. Kept weights are read with the first plan.
 * MAFAT_ELIMIT: over the budget; also errors of reading weights and running. */
struct mafat_search_timer mafat_plan_timer_for_search(struct mafat_plan_timer *timer);

/* Most resident bytes added to the process while a plan ran. */
size_t mafat_plan_timer_most_bytes(const struct mafat_plan_timer *timer);

#endif
