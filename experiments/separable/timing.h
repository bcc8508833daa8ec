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

/* Times n plans in turn: the least milliseconds of each over `rounds` runs, or as many as
 * `seconds` allow. The second of two runs is timed, after the first has brought arena and
 * weights into the caches. The weights are read from `path`; `cpu` is the kernel level (NULL:
 * the best). */
int time_plans(struct timed_plan *plans, int n, const struct mafat_network *network,
               const char *path, const char *cpu, int rounds, double seconds,
               struct mafat_diagnostic *d);

#endif
