/* Measures this machine for the latency model (predictor/cost/latency.h). Small networks with
 * random weights run under plans of every kind, and each layer is timed. Then the prices of the
 * kinds of work are fitted to the times (runner/calibrate/calibrate_fit.h). A file is read to
 * measure the disk. This takes about 20 seconds, or up to a minute on slow machines. Writes
 * temporary files into the cache folder, which it removes even after Ctrl-C; allocates memory,
 * which it frees. Included by calibrate.c and tests. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_H

#include "include/mafat_plan.h"
#include "predictor/cost/calibration.h"
#include "runner/kernels/kernels.h"

/* Measures one kernel level and sets *out. Stores nothing in a file: mafat_calibrate(), which calls
 * this function, does that. */
int mafat_calibrate_measure(struct mafat_calibration *out, const struct mafat_kernels *kernels,
                            const struct mafat_calibrate_options *options,
                            struct mafat_diagnostic *d);

/* Fills the facts that mafat_calibrate() returns, except for the path. */
void mafat_calibrate_describe(struct mafat_calibration_facts *facts,
                              const struct mafat_calibration *c);

#endif
