/* Times plans of one network in turn. Included by separable.c and timing.c. Reads the weights file;
 * allocates and frees all memory for the runs. */
#ifndef MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H
#define MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H

#include "network/network.h"

enum { MOST_TIMED = 64 };

struct timed_plan {
  const char *text;
  bool all_maps; /* no layer is computed inside another's step */
  double ms;     /* least milliseconds of a run, without the input's step */
  double convolutions_ms; /* least sum of the milliseconds of its 1x1 and depthwise layers */
};

/* Times n plans in turn: finds the least milliseconds of each over `rounds` rounds. With `seconds`
 * above 0 it stops after that time, but not before three rounds. In a round each plan runs twice
 * and the second run is timed; the first brings arena and weights into the caches. Weights are read
 * from `path`. `cpu`: kernel level (NULL: the best). */
int time_plans(struct timed_plan *plans, int n, const struct mafat_network *network,
               const char *path, const char *cpu, int rounds, double seconds,
               struct mafat_diagnostic *d);

#endif
