/* The search "best": finds the Pareto front of plans by bytes and milliseconds. Included by
 * search/smallest/smallest.c; api/ reaches it through its row in search/searches.c. Allocates from
 * a heap of its own, which it frees; the caller closes the front. */
#ifndef MAFAT_SEARCH_BEST_BEST_H
#define MAFAT_SEARCH_BEST_BEST_H

#include "search/common/search.h"

/* Finds the front. The caller frees it by mafat_front_close. If request->least is set, the front
 * has only one plan: the one with the smallest arena that was found. The search knows no budget, so
 * a larger budget never gives a slower plan. The search is not exhaustive: there are networks with
 * plans of one or two groups that need up to 4 % fewer bytes than the smallest plan that it finds.
 * Returns MAFAT_OK, MAFAT_ENOMEM or MAFAT_ELIMIT (the bytes of every plan overflow). */
int mafat_search_front(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_best;

#endif
