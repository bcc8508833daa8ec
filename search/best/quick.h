/* Finds a good plan within milliseconds if whole maps fit the budget, and the algorithms of the
 * layers. Included by search/best/best.c. Allocates in the options' heap. */
#ifndef MAFAT_SEARCH_BEST_QUICK_H
#define MAFAT_SEARCH_BEST_QUICK_H

#include "search/common/front.h"

/* Adds the plan for request->budget_bytes and the options' threads to a front; nothing if whole
 * maps do not fit. The spec names the algorithms. The effort is counted in plans, never in time, so
 * the result depends on the request alone. MAFAT_ENOMEM; MAFAT_EINVAL, MAFAT_ELIMIT: the network
 * has no plan. */
int mafat_quick_find(struct mafat_front *front, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d);

#endif
