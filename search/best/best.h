/* The best plans that are found for a network: which bytes buy which milliseconds. */
#ifndef MAFAT_SEARCH_BEST_BEST_H
#define MAFAT_SEARCH_BEST_BEST_H

#include "search/common/search.h"

/* The search has a heap of its own, of which nothing is left but the front, in another.
 * Or, where that is asked for, a front of one plan, the one of the least arena.
 * The same request gives the same front, whatever budget is asked of it later: so a
 * larger budget never gives a slower plan. MAFAT_ENOMEM; MAFAT_ELIMIT: no plan has
 * countable bytes. It does not look at every plan: some of one group or two need up to 4 % less than the least here. */
int mafat_search_front(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_best;

#endif
