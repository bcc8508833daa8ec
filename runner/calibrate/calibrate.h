/* Measures this machine for the latency model (predictor/cost/latency.h): small networks of
 * random weights, made for it, run under plans of every kind, layer by layer; and a file
 * is read past the page cache. What the kinds of work cost is fitted to that
 * (calibrate_fit.h). Takes about 20 seconds, less than a minute on slow machines, and
 * some disk space in the cache folder while it runs: also after Ctrl-C nothing is left. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_H

#include "include/mafat_plan.h"
#include "predictor/cost/calibration.h"
#include "runner/kernels/kernels.h"

/* For one kernel level, without keeping it: mafat_calibrate's first half. */
int mafat_calibrate_measure(struct mafat_calibration *out, const struct mafat_kernels *kernels,
                            const struct mafat_calibrate_options *options, struct mafat_diagnostic *d);

/* As of the public header, but for the path. */
void mafat_calibrate_describe(struct mafat_calibration_facts *facts, const struct mafat_calibration *c);

#endif
