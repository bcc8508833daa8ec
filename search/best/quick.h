/* Finds a good plan within milliseconds if whole maps fit the budget. Included by
 * search/best/best.c. Allocates from the options' heap. */
#ifndef MAFAT_SEARCH_BEST_QUICK_H
#define MAFAT_SEARCH_BEST_QUICK_H

#include "search/common/front.h"

/* Adds a plan for request->budget_bytes and the options' threads to the front; adds nothing if
 * whole maps do not fit. The plan's spec names the algorithm of each layer. The number of
 * candidates is limited, not the time, so the result depends only on the request. Returns MAFAT_OK,
 * MAFAT_ENOMEM, or MAFAT_EINVAL or MAFAT_ELIMIT if the network has no plan. */
int mafat_quick_find(struct mafat_front *front, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d);

#endif
