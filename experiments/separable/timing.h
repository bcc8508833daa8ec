/* Times plans of one network in turn. Included by separable.c and timing.c. */
#ifndef MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H
#define MAFAT_EXPERIMENTS_SEPARABLE_TIMING_H

#include "network/network.h"

enum { MOST_TIMED = 64 };

struct timed_plan {
  const char *text;
  bool all_maps; /* no layer is computed inside another's step */
  double ms;     /* least ms, without the input's step */
  double convolutions_ms; /* the same for 1x1 and depthwise layers */
};

/* Times n plans in turn: the least milliseconds of each over `rounds` runs, or as many as
 * `seconds` allow. Of two runs in a row the second is timed; the first brings arena and weights
 * into the caches. Weights are read from `path`. `cpu`: kernel level (NULL: the best). */
int time_plans(struct timed_plan *plans, int n, const struct mafat_network *network,
               const char *path, const char *cpu, int rounds, double seconds,
               struct mafat_diagnostic *d);

#endif
