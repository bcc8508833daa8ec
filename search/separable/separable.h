/* The search "separable": chooses which depthwise and 1x1 layers to fuse
 * (predictor/transfers/transfers.h). It minimizes the bytes moved between a fast memory and the
 * rest, or the predicted time. After Daghero et al. (2024), with dynamic programming instead of
 * their exhaustive search. Included by search/separable/separable.c and by tests; api/ reaches it
 * through its row in search/searches.c. Allocates in a heap of its own. */
#ifndef MAFAT_SEARCH_SEPARABLE_SEPARABLE_H
#define MAFAT_SEARCH_SEPARABLE_SEPARABLE_H

#include "search/common/search.h"

/* Finds a front of one plan, with weights kept. MAFAT_ENOMEM; MAFAT_ELIMIT: no representable
 * bytes. */
int mafat_search_separable(struct mafat_front **out, const struct mafat_search_request *request,
                           struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_separable;

#endif
