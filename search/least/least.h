/* Reduces the arena of a plan by hill climbing, among plans that keep all weights and compute
 * nothing twice. The list of candidates, `front`, has one plan, the best so far. A plan is better
 * if its arena is smaller or, if the arenas have equally many bytes, if it is faster. Included by
 * search/best/best.c and search/least/grouping.c. Temporary memory is in request->options->heap,
 * the plan in the front's heap. All functions return MAFAT_OK or MAFAT_ENOMEM. */
#ifndef MAFAT_SEARCH_LEAST_LEAST_H
#define MAFAT_SEARCH_LEAST_LEAST_H

#include "search/common/front.h"

/* Replaces the front's plan by a copy of this spec if it is better, or if the front is empty. Skips
 * specs that are invalid for the network or compute pixels twice. */
int mafat_least_take(struct mafat_front *front, const struct mafat_search_request *request,
                     const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Changes groups of the front's plan, mostly the one with the most live bytes, and the execution
 * order, until no change improves the plan. */
int mafat_least_refine(struct mafat_front *front, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

/* Like mafat_least_refine, but changes in turns the group whose buffer is at the end of the arena
 * and the group with the most live bytes. This is slower, so it is called last. */
int mafat_least_lower(struct mafat_front *front, const struct mafat_search_request *request,
                      struct mafat_diagnostic *d);

#endif
