/* The search "fdt": fused depthwise tiling with its automatic flow (Stahl et al. 2023), applied to
 * this project's plans. It lays out a plan, picks a critical buffer, and splits the path around it
 * in the way that gives the least arena. It repeats this until no critical buffer gives a smaller
 * arena. Included by search/smallest/smallest.c; api/ reaches it through its row in
 * search/searches.c. Allocates in a heap of its own. */
#ifndef MAFAT_SEARCH_FDT_FDT_H
#define MAFAT_SEARCH_FDT_FDT_H

#include "search/common/search.h"

/* Finds a front of one plan, which mixes 1x1 groups, grids of tiles (FFMT) and split groups (FDT).
 * Weights are kept; tiles of maps may recompute overlaps. MAFAT_ENOMEM; MAFAT_ELIMIT: no plan has
 * representable bytes. */
int mafat_search_fdt(struct mafat_front **out, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_fdt;

#endif
