/* The search "separable": chooses which depthwise and 1x1 layers to fuse
 * (predictor/transfers/transfers.h). It minimizes the predicted time, or the bytes that are copied
 * between a fast memory and the rest of the memory. Daghero et al. (2024) search exhaustively; this
 * search uses dynamic programming. Included by search/separable/separable.c and by tests; api/
 * reaches it through search/searches.c. Allocates from a heap of its own, which it frees. */
#ifndef MAFAT_SEARCH_SEPARABLE_SEPARABLE_H
#define MAFAT_SEARCH_SEPARABLE_SEPARABLE_H

#include "search/common/search.h"

/* Finds a front of one plan, which keeps all weights. The caller closes the front. Returns
 * MAFAT_OK, MAFAT_ENOMEM, MAFAT_EINVAL (invalid request->words) or MAFAT_ELIMIT (the plan's byte
 * count overflows). */
int mafat_search_separable(struct mafat_front **out, const struct mafat_search_request *request,
                           struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_separable;

#endif
