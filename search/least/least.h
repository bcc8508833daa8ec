/* Finds the plan of the least arena among those that keep all weights and compute nothing twice.
 * Arenas are compared to the byte; ties go to the faster plan. Included by search/best/best.c and
 * search/least/grouping.c. Allocates in the options' heap. */
#ifndef MAFAT_SEARCH_LEAST_LEAST_H
#define MAFAT_SEARCH_LEAST_LEAST_H

#include "search/common/front.h"

/* Replaces the plan of a front of one, or adds the first, if this spec is better. Skips specs that
 * are invalid for the network. MAFAT_ENOMEM. */
int mafat_least_take(struct mafat_front *front, const struct mafat_search_request *request,
                     const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Improves the plan group by group until no change helps. MAFAT_ENOMEM. */
int mafat_least_refine(struct mafat_front *front, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

/* The same, also for the groups that reach highest after offsets are assigned. Used last, because
 * its result is no better a starting point. MAFAT_ENOMEM. */
int mafat_least_lower(struct mafat_front *front, const struct mafat_search_request *request,
                      struct mafat_diagnostic *d);

#endif
