/* Which depthwise and 1x1 layers to compute together (predictor/transfers/transfers.h), as a plan: those that move fewest bytes
 * between a fast memory and the rest, or that are predicted to be the fastest. After Daghero et al. (2024), whose exhaustive
 * search over fused blocks is dynamic programming here. */
#ifndef MAFAT_SEARCH_SEPARABLE_SEPARABLE_H
#define MAFAT_SEARCH_SEPARABLE_SEPARABLE_H

#include "search/common/search.h"

/* A front of one plan, with weights kept. MAFAT_ENOMEM; MAFAT_ELIMIT: it has no countable bytes. */
int mafat_search_separable(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_separable;

#endif
