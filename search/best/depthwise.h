/* Optimizes how many rows of a depthwise layer are computed at a time inside the 1x1 convolution
 * that reads it: the words ":dw4" etc. of a spec (predictor/plan/spec.h). More rows save time if
 * maps are small; fewer rows or none save memory. Included by best.c and quick.c in search/best.
 * Allocates from request->options->heap. */
#ifndef MAFAT_SEARCH_BEST_DEPTHWISE_H
#define MAFAT_SEARCH_BEST_DEPTHWISE_H

#include "search/common/front.h"

/* Adds up to three variants of a spec to a front, which differ only in depthwise words: the fastest
 * that needs no larger arena than the spec, the fastest of all, and the fastest with the smallest
 * arena. Adds none if the plan has no fused depthwise layers, or has partition buffers. `add`
 * adds a spec to the front, as mafat_front_add does. Returns MAFAT_OK, MAFAT_ENOMEM or an error of
 * `add`; MAFAT_EINVAL and MAFAT_ELIMIT end the function but are returned as MAFAT_OK. */
int mafat_depthwise_add(struct mafat_front *front, const struct mafat_search_request *request,
                        const struct mafat_spec *spec,
                        int (*add)(struct mafat_front *front,
                                   const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, struct mafat_diagnostic *d),
                        struct mafat_diagnostic *d);

#endif
