/* Runs of plans of one network, timed side by side. */
#ifndef MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H
#define MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H

#include "network/network.h"

enum { MOST_TIMED = 64 };

struct timed_plan {
  const char *text;
  bool all_maps; /* nothing is computed inside another layer's step */
  double ms;     /* least, without the input's stage */
  double convolutions_ms; /* the same of its 1x1 and depthwise layers */
};

/* Of `rounds` runs, or as many as `seconds` allow, the least milliseconds of each of the n plans, in turn. A plan's run is the second
 * of two: the first has its arena and weights brought near. The weights come from `path`, on the kernels of that level (NULL: the best). */
int time_plans(struct timed_plan *plans, int n, const struct mafat_network *network, const char *path, const char *cpu, int rounds,
               double seconds, struct mafat_diagnostic *d);

#endif
