/* Measures this machine for the latency model (predictor/cost/latency.h).
 *
 * Small networks with random weights run under plans of every kind, and each layer is timed. A file
 * is read past the page cache. The prices of the kinds of work are fitted to the times
 * (runner/calibrate/calibrate_fit.h). This takes about 20 seconds, or up to a minute on slow
 * machines. It writes temporary files into the cache folder and removes them, also after Ctrl-C.
 * Allocates and maps memory. Included by calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_H

#include "include/mafat_plan.h"
#include "predictor/cost/calibration.h"
#include "runner/kernels/kernels.h"

/* Measures one kernel level, as mafat_calibrate() does, but does not store the result. */
int mafat_calibrate_measure(struct mafat_calibration *out, const struct mafat_kernels *kernels,
                            const struct mafat_calibrate_options *options,
                            struct mafat_diagnostic *d);

/* Fills the facts that mafat_calibrate() returns, except for the path. */
void mafat_calibrate_describe(struct mafat_calibration_facts *facts,
                              const struct mafat_calibration *c);

#endif
