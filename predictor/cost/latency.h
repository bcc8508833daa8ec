/* What a plan costs in milliseconds, before anything runs. The schedule is walked dry:
 * each step's work (work.h) at the calibration's prices, and beside it the reads that
 * the plan makes (fetches.h), as far ahead as its ring lets them. */
#ifndef MAFAT_PREDICTOR_COST_LATENCY_H
#define MAFAT_PREDICTOR_COST_LATENCY_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"

struct mafat_latency {
  double total_ms;   /* of all steps; the picture's decoding is not in it */
  double compute_ms; /* of that: kernels */
  double reading_ms; /* reading weights, were it alone; most of it runs beside the kernels */
  double waiting_ms; /* of the total: until weights are there */
};

/* MAFAT_ENOMEM; MAFAT_ELIMIT. */
int mafat_latency_predict(struct mafat_latency *out, const struct mafat_network *n, const struct mafat_plan *plan,
                          const struct mafat_layout *layout, const struct mafat_calibration *c);

/* Of each layer's steps the kernels alone: ms (n_layers of the plan); a layer inside another's step counts there. MAFAT_ENOMEM. */
int mafat_latency_of_layers(double *ms, const struct mafat_network *n, const struct mafat_plan *plan, const struct mafat_layout *layout,
                            const struct mafat_calibration *c);

#endif
