/* Finds a good plan within milliseconds if whole maps fit the budget. The plan names the
 * layers' algorithms. Included by search/best/best.c. Allocates in the options' heap. */
#ifndef MAFAT_SEARCH_BEST_QUICK_H
#define MAFAT_SEARCH_BEST_QUICK_H

#include "search/common/front.h"

/* Adds the plan for request->budget_bytes and the options' threads to a front; nothing if whole
 * maps do not fit. The spec names the algorithms. The number of plans is limited, not the time,
 * so the result depends only on the request. MAFAT_ENOMEM; MAFAT_EINVAL, MAFAT_ELIMIT: the network
 * has no plan. */
int mafat_quick_find(struct mafat_front *front, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d);

#endif
