/* Limit of a search: a deterministic effort, the same on any machine, or a deadline if requested.
 * Reads the clock if there is a deadline. Included by search/best, search/common, search/fdt,
 * search/least and search/motes. */
#ifndef MAFAT_SEARCH_COMMON_EFFORT_H
#define MAFAT_SEARCH_COMMON_EFFORT_H

#include "predictor/plan/partition.h"
#include "search/common/request.h"

enum { MAFAT_EFFORT_PARTS = 16 }; /* parts of a plan that cost as much effort as one layer */

/* A monotonic clock, in nanoseconds. */
long long mafat_effort_now(void);

/* True if the search may continue; `evaluations`: remaining effort. */
static inline bool mafat_effort_left(const struct mafat_search_request *r, long long evaluations)
{
  return r->plan_ends ? mafat_effort_now() < r->plan_ends : evaluations >= 0;
}

/* Effort that the parts of a plan cost in addition to its layers. Unit: the effort of one layer. */
static inline int mafat_effort_of_parts(const struct mafat_plan *plan)
{
  return plan->parts ? plan->parts->n / MAFAT_EFFORT_PARTS : 0;
}

#endif
