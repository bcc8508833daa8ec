/* Optimizes the depthwise words of a finished plan: how many rows of a depthwise layer are fused
 * into the 1x1 convolution that reads it (predictor/plan/spec.h). Plans without such words use the
 * default. More rows save time if maps are small; fewer rows or none save memory. Included by
 * search/best/best.c. Allocates in request->options->heap. */
#ifndef MAFAT_SEARCH_BEST_DEPTHWISE_H
#define MAFAT_SEARCH_BEST_DEPTHWISE_H

#include "search/common/front.h"

/* Adds up to three variants of a spec to a front, which differ in depthwise words only: the fastest
 * that needs no larger arena, the fastest of all, and the fastest with the smallest arena. Adds
 * none if the network has no fused depthwise layers, or if the plan has partitions. `add`: adds a
 * spec to the front, as mafat_front_add does. Returns MAFAT_OK, MAFAT_ENOMEM or an error of `add`
 * except MAFAT_EINVAL and MAFAT_ELIMIT. */
int mafat_depthwise_add(struct mafat_front *front, const struct mafat_search_request *request,
                        const struct mafat_spec *spec,
                        int (*add)(struct mafat_front *front,
                                   const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, struct mafat_diagnostic *d),
                        struct mafat_diagnostic *d);

#endif
