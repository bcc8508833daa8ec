/* The search "best": finds the Pareto front of plans by bytes and milliseconds. Included by
 * search/smallest/smallest.c; api/ reaches it through its row in search/searches.c. Allocates in a
 * heap of its own. */
#ifndef MAFAT_SEARCH_BEST_BEST_H
#define MAFAT_SEARCH_BEST_BEST_H

#include "search/common/search.h"

/* Finds the front; temporary memory is in a heap of the search. With request->least, the front has
 * one plan, the one of the least arena. The result does not depend on a budget, so a larger budget
 * never gives a slower plan. The search is not exhaustive: some plans with one or two groups need
 * up to 4 % less than the least one here. MAFAT_ENOMEM; MAFAT_ELIMIT: no plan has representable
 * bytes. */
int mafat_search_front(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_best;

#endif
