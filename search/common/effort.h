/* How long a search goes on: until it has looked at so much, the same on any machine; or, where that is asked for, as long as
 * there is time. */
#ifndef MAFAT_SEARCH_COMMON_EFFORT_H
#define MAFAT_SEARCH_COMMON_EFFORT_H

#include "predictor/plan/partition.h"
#include "search/common/request.h"

enum { MAFAT_EFFORT_PARTS = 16 }; /* so many parts of a plan are as much work as one of its layers */

/* Nanoseconds of a clock that only goes on. */
long long mafat_effort_now(void);

/* May it go on, of whose looks so many are left? */
static inline bool mafat_effort_left(const struct mafat_search_request *r, long long looks)
{
  return r->plan_ends ? mafat_effort_now() < r->plan_ends : looks >= 0;
}

/* Of a plan with layers in parts: so many more looks at layers. */
static inline int mafat_effort_of_parts(const struct mafat_plan *plan)
{
  return plan->parts ? plan->parts->n / MAFAT_EFFORT_PARTS : 0;
}

#endif
