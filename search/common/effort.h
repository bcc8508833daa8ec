/* The limit of a search: a deadline if the request has one, else a limit of effort. A search's
 * effort is the sum of the numbers of layers of all plans that it tries, so it is the same on every
 * machine. Included by search/best, search/common, search/fdt, search/least and search/motes. Reads
 * the clock if there is a deadline. */
#ifndef MAFAT_SEARCH_COMMON_EFFORT_H
#define MAFAT_SEARCH_COMMON_EFFORT_H

#include "predictor/plan/partition.h"
#include "search/common/request.h"

/* number of parts of a plan that cost as much effort as one layer */
enum { MAFAT_EFFORT_PARTS = 16 };

/* Returns the time of a monotonic clock, in nanoseconds. */
long long mafat_effort_now(void);

/* True if the search may continue. evaluations: remaining effort, in layers; ignored if there is a
 * deadline. Callers without a limit of effort pass 0. */
static inline bool mafat_effort_left(const struct mafat_search_request *r, long long evaluations)
{
  return r->plan_ends ? mafat_effort_now() < r->plan_ends : evaluations >= 0;
}

/* Effort that the parts of a plan (partition.h) cost in addition to its layers. Unit: layers. */
static inline int mafat_effort_of_parts(const struct mafat_plan *plan)
{
  return plan->parts ? plan->parts->n / MAFAT_EFFORT_PARTS : 0;
}

#endif
