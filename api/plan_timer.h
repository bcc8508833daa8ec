/* Times plans by running them, for a search that asks how long one takes on this machine: all in turn, each alone in an arena of
 * its own, with weights that are read once and kept, on inputs of zeros. */
#ifndef MAFAT_API_PLAN_TIMER_H
#define MAFAT_API_PLAN_TIMER_H

#include "predictor/cost/predict.h"
#include "runner/kernels/kernels.h"
#include "search/common/request.h"

struct mafat_executor;

/* All of it the caller's, until the timer is closed. */
struct mafat_plan_timer_options {
  const struct mafat_network *network;
  int n_layers;
  struct mafat_model_source *weights;
  const struct mafat_kernels *kernels;
  const struct mafat_surroundings *around; /* what a plan is predicted to need, beside which */
  size_t budget_bytes;       /* that running one may be charged */
  const char *budget_source; /* for messages */
  /* A clock, and the milliseconds of the last run that reading the input took; NULL: the machine's, the executor's. */
  double (*now_ms)(void);
  double (*input_ms)(const struct mafat_executor *e);
};

struct mafat_plan_timer;

/* MAFAT_ENOMEM; MAFAT_EUNSUPPORTED: a layer cannot be run. */
int mafat_plan_timer_open(struct mafat_plan_timer **out, const struct mafat_plan_timer_options *options, struct mafat_diagnostic *d);
void mafat_plan_timer_close(struct mafat_plan_timer **timer);

/* For a search's request. Of several runs of a plan the least counts: the first one touches its pages, and others may be interrupted.
 * Plans keep their weights, which are read with the first of them. MAFAT_ELIMIT: the budget does not hold it; what reading weights and running
 * give. */
struct mafat_search_timer mafat_plan_timer_for_search(struct mafat_plan_timer *timer);

/* Resident beside the process as it was, while the largest of the plans ran. */
size_t mafat_plan_timer_most_bytes(const struct mafat_plan_timer *timer);

#endif
