/* Predicts the milliseconds of a plan by walking over its schedule without running it. A step costs
 * its work (work.h) times the calibration's prices. Reads of weights (fetches.h) overlap with the
 * steps, as far ahead as the plan's ring allows. Called by api/, the searches (search/common,
 * search/best, search/motes), predictor/transfers/prices.c and runner/calibrate. Allocates from the
 * plan's heap, and frees all of it. */
#ifndef MAFAT_PREDICTOR_COST_LATENCY_H
#define MAFAT_PREDICTOR_COST_LATENCY_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"

struct mafat_latency {
  double total_ms;   /* all steps, without decoding of the picture */
  double compute_ms; /* part of total_ms that is spent in kernels */
  double reading_ms; /* time in which the disk transfers weights, mostly overlapped with kernels */
  double waiting_ms; /* part of total_ms that is spent waiting for weights */
};

/* Fills *out. Returns MAFAT_ENOMEM or, if sizes overflow, MAFAT_ELIMIT on failure. */
int mafat_latency_predict(struct mafat_latency *out, const struct mafat_network *n,
                          const struct mafat_plan *plan, const struct mafat_layout *layout,
                          const struct mafat_calibration *c);

/* Fills ms[plan->n_layers] with the kernel time of each layer's steps. The time of a fused layer
 * counts for the layer in whose step it is computed. Returns MAFAT_ENOMEM or MAFAT_ELIMIT on
 * failure. */
int mafat_latency_of_layers(double *ms, const struct mafat_network *n,
                            const struct mafat_plan *plan, const struct mafat_layout *layout,
                            const struct mafat_calibration *c);

#endif
