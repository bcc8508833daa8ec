/* Runs of a plan, timed: interleaved with the same layers each by itself. */
#ifndef MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H
#define MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H

#include "network/network.h"

/* Of `rounds` runs the least milliseconds, without the input's stage: ms[0] nothing computed inside another layer's step,
 * ms[1] as the executor does it. apart: both; else the latter alone. The weights come from `path`. */
int time_plan(double ms[2], const struct mafat_network *n, const char *path, const char *plan, int rounds, bool apart,
              struct mafat_diagnostic *d);

#endif
