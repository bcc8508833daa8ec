/* Predicts the milliseconds of a plan. The schedule is walked dry: the work of each step (work.h)
 * times the calibration's prices, overlapped with the plan's reads (fetches.h), as far ahead as its
 * ring allows. Called by api/, the searches (search/common, search/best, search/motes),
 * predictor/transfers/prices.c and runner/calibrate. */
#ifndef MAFAT_PREDICTOR_COST_LATENCY_H
#define MAFAT_PREDICTOR_COST_LATENCY_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"

struct mafat_latency {
  double total_ms;   /* all steps, without decoding of the picture */
  double compute_ms; /* kernels */
  double reading_ms; /* reading weights, mostly overlapped with kernels */
  double waiting_ms; /* part of the total spent waiting for weights */
};

/* Returns MAFAT_ENOMEM or MAFAT_ELIMIT on failure. */
int mafat_latency_predict(struct mafat_latency *out, const struct mafat_network *n,
                          const struct mafat_plan *plan, const struct mafat_layout *layout,
                          const struct mafat_calibration *c);

/* Fills ms[n_layers of the plan] with kernel time for each layer's steps. A layer inside another's
 * step counts there. MAFAT_ENOMEM. */
int mafat_latency_of_layers(double *ms, const struct mafat_network *n,
                            const struct mafat_plan *plan, const struct mafat_layout *layout,
                            const struct mafat_calibration *c);

#endif
