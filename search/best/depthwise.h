/* Optimizes the depthwise words (predictor/plan/spec.h) of a finished plan. Searches use the
 * default number of rows fused into a 1x1 convolution. More rows save time where maps are small,
 * and fewer rows or none save memory. Included by search/best/best.c. Allocates in the options'
 * heap. */
#ifndef MAFAT_SEARCH_BEST_DEPTHWISE_H
#define MAFAT_SEARCH_BEST_DEPTHWISE_H

#include "search/common/front.h"

/* Adds up to three variants of a spec to a front, which differ in depthwise words only: the fastest
 * without a larger arena, the fastest of all, and the fastest with the least arena. Adds none if
 * there are no such words, or layers run in parts. `add`: receives a spec, such as mafat_front_add.
 * MAFAT_ENOMEM; errors of `add`. */
int mafat_depthwise_add(struct mafat_front *front, const struct mafat_search_request *request,
                        const struct mafat_spec *spec,
                        int (*add)(struct mafat_front *front,
                                   const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, struct mafat_diagnostic *d),
                        struct mafat_diagnostic *d);

#endif
