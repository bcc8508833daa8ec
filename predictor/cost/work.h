/* Counts the work of a step: products, register tiles, outputs, transforms, and bytes, counted
 * apart for each cache from which they come. The step's time is these counts times the prices of a
 * calibration (calibration.h). Called by latency.c, rank_latency.c, search/best/costs.c and
 * runner/calibrate. */
#ifndef MAFAT_PREDICTOR_COST_WORK_H
#define MAFAT_PREDICTOR_COST_WORK_H

#include "predictor/cost/counting.h"

struct mafat_work {
  double n[MAFAT_N_TERMS]; /* [term]: count of the term (calibration.h) */
};

/* Initializes the context in which steps of a plan are counted. Allocates nothing; there is no
 * close. */
void mafat_work_open(struct mafat_work_context *c, const struct mafat_network *n,
                     const struct mafat_plan *plan, const struct mafat_layout *layout,
                     const struct mafat_calibration *calibration);

/* Adds a step's work to *work; with several threads, the work of the busiest thread. Must be called
 * for the steps of a run in their order. */
void mafat_work_add_step(struct mafat_work_context *c, const struct mafat_step *step,
                         struct mafat_work *work);

/* Nanoseconds of a step's work on n_threads. */
static inline double mafat_work_ns(const struct mafat_work *work, const struct mafat_calibration *c,
                                   int n_threads)
{
  double ns = n_threads > 1 ? c->thread_step_ns : 0;
  for (int t = 0; t < MAFAT_N_TERMS; t++) ns += work->n[t] * c->ns[t];
  return ns;
}

#endif
