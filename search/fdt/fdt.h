/* The search "fdt": fused depthwise tiling (Stahl et al. 2023), applied to this project's plans. It
 * lays out a plan, picks a critical buffer (critical.h), and splits the layers around it in the way
 * that gives the smallest arena. It repeats this until no split gives a smaller arena. Included by
 * search/smallest/smallest.c; api/ reaches it through search/searches.c. Allocates in a heap of its
 * own. */
#ifndef MAFAT_SEARCH_FDT_FDT_H
#define MAFAT_SEARCH_FDT_FDT_H

#include "search/common/search.h"

/* Finds a front of one plan; the caller closes it. The plan has undivided groups, groups in tiles
 * (the paper's FFMT, fused feature map tiling) and groups split along channels (FDT). Weights are
 * kept. Tiles may compute overlaps twice. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_EINVAL (invalid
 * request->words) or MAFAT_ELIMIT (the bytes of every plan overflow). */
int mafat_search_fdt(struct mafat_front **out, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_fdt;

#endif
