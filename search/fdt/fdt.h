/* The search "fdt": fused depthwise tiling (Stahl et al. 2023), applied to this project's plans. It
 * lays out a plan, picks a critical buffer (critical.h), and splits the layers around it in the way
 * that gives the smallest arena. It repeats this until no split gives a smaller arena. Included by
 * search/smallest/smallest.c; api/ reaches it through search/searches.c. Allocates from a heap of
 * its own, which it frees; the caller closes the front. */
#ifndef MAFAT_SEARCH_FDT_FDT_H
#define MAFAT_SEARCH_FDT_FDT_H

#include "search/common/search.h"

/* Finds a front of one plan; the caller closes it. The plan has groups that are not divided, groups
 * in tiles (the paper's FFMT, fused feature map tiling) and groups that are split along channels
 * (FDT). Weights are kept. Where tiles overlap, values may be computed twice. Returns MAFAT_OK,
 * MAFAT_ENOMEM, MAFAT_EINVAL (invalid request->words) or MAFAT_ELIMIT (the bytes of every plan
 * overflow). */
int mafat_search_fdt(struct mafat_front **out, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_fdt;

#endif
