/* Depthwise words (spec.h) for plans that are found. Searches go by the usual number of rows inside a 1x1, which is small where
 * maps are: what time more of them spare and what memory fewer do, or none, is found here for a plan that stands. */
#ifndef MAFAT_SEARCH_BEST_DEPTHWISE_H
#define MAFAT_SEARCH_BEST_DEPTHWISE_H

#include "search/common/front.h"

/* Adds to a front up to three specs that differ from this one in depthwise words alone: the fastest whose arena is no larger, the
 * fastest in any, and the one of the least arena that words make, as fast as it can be. None, where there is nothing to say, or
 * layers run in parts. `add`: what takes a spec in, such as mafat_front_add. MAFAT_ENOMEM; errors of `add`. */
int mafat_depthwise_add(struct mafat_front *front, const struct mafat_search_request *request, const struct mafat_spec *spec,
                        int (*add)(struct mafat_front *front, const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, struct mafat_diagnostic *d),
                        struct mafat_diagnostic *d);

#endif
