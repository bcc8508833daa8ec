/* Measures this machine for the latency model (predictor/latency.h): small networks of
 * random weights, made for it, run under plans of every kind, layer by layer; and a file
 * is read past the page cache. What the kinds of work cost is fitted to that
 * (calibrate_fit.h). Takes about 20 seconds, less than a minute on slow machines, and
 * some disk space in the cache folder while it runs: also after Ctrl-C nothing is left. */
#ifndef MAFAT_RUNNER_CALIBRATE_H
#define MAFAT_RUNNER_CALIBRATE_H

#include "predictor/calibration.h"
#include "runner/kernels.h"

struct mafat_calibrate_options {
  double seconds;      /* that measuring may take, about; default 20 */
  size_t memory_bytes; /* that it may take; default 0: what mafat_budget_find says */
  /* Told the share that is done, now and then; default NULL. */
  void (*progress)(void *context, double share);
  void *context;
  struct mafat_warning_sink warnings; /* default: nobody */
};

void mafat_calibrate_defaults(struct mafat_calibrate_options *options);

/* For one kernel level. MAFAT_ELIMIT: too little memory; MAFAT_EIO: no place for the
 * files; MAFAT_ENOMEM. Not for use beside other threads: it takes the signals that end a
 * program for itself. */
int mafat_calibrate(struct mafat_calibration *out, const struct mafat_kernels *kernels,
                    const struct mafat_calibrate_options *options, struct mafat_diagnostic *d);

/* For people: GFLOP/s of the kernels, GB/s of memory and disk; at most `room` bytes
 * with the NUL. Returns the length it needs without the NUL. */
size_t mafat_calibrate_describe(const struct mafat_calibration *c, char *text, size_t room);

#endif
