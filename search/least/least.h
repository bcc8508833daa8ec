/* The plan of the least arena: of those that keep all weights and compute nothing twice. What else the
 * process takes hides a few kilobytes of it; to the byte it counts here, and of equals the faster one. */
#ifndef MAFAT_SEARCH_LEAST_LEAST_H
#define MAFAT_SEARCH_LEAST_LEAST_H

#include "search/common/front.h"

/* A front of one plan: takes this one instead of it, or for the first, where it is better. A spec that is
 * none for the network is passed over. MAFAT_ENOMEM. */
int mafat_least_take(struct mafat_front *front, const struct mafat_search_request *request,
                     const struct mafat_spec *spec, struct mafat_diagnostic *d);

/* Changes its plan group by group, for as long as that makes it better. MAFAT_ENOMEM. */
int mafat_least_refine(struct mafat_front *front, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d);

/* The same where it reaches highest, too, as it is arranged; for the end: what this leads to is no better place to begin at. MAFAT_ENOMEM. */
int mafat_least_lower(struct mafat_front *front, const struct mafat_search_request *request,
                      struct mafat_diagnostic *d);

#endif
