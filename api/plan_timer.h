/* Times plans by running them, for a search that measures on this machine. Plans run one after the
 * other, each in its own arena, with inputs of zeros. Weights are read once and kept. Included by
 * api/choose.h; called by api/choose.c for searches. Maps arenas, reads weights and starts
 * threads. */
#ifndef MAFAT_API_PLAN_TIMER_H
#define MAFAT_API_PLAN_TIMER_H

#include "predictor/cost/predict.h"
#include "runner/kernels/kernels.h"
#include "search/common/request.h"

struct mafat_executor;

/* The caller owns everything that these fields point to, and keeps it longer than the timer. */
struct mafat_plan_timer_options {
  const struct mafat_network *network;
  int n_layers;
  struct mafat_model_source *weights;
  const struct mafat_kernels *kernels;
  const struct mafat_footprint *footprint; /* process footprint, for predictions of plans */
  size_t budget_bytes;       /* largest charge while a plan is timed */
  const char *budget_source; /* for messages */
  /* Set by tests: a clock, and the milliseconds that the last run spent on its input. NULL: the
   * machine's clock, and the executor's value. */
  double (*now_ms)(void);
  double (*input_ms)(const struct mafat_executor *e);
};

struct mafat_plan_timer;

/* MAFAT_ENOMEM; MAFAT_EUNSUPPORTED: a layer cannot be run. */
int mafat_plan_timer_open(struct mafat_plan_timer **out,
                          const struct mafat_plan_timer_options *options,
                          struct mafat_diagnostic *d);
void mafat_plan_timer_close(struct mafat_plan_timer **timer);

/* Returns a timer for a search's request. The timer returns the least time of several runs of a
 * plan, because the first run populates pages and others may be interrupted. The first plan also
 * reads the weights. MAFAT_ELIMIT: the plan exceeds the budget; also errors of reading weights and
 * running. */
struct mafat_search_timer mafat_plan_timer_for_search(struct mafat_plan_timer *timer);

/* Returns the most bytes by which running a plan made the process grow. */
size_t mafat_plan_timer_most_bytes(const struct mafat_plan_timer *timer);

#endif
