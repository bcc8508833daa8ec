/* Fused depthwise tiling with its automatic flow (Stahl et al. 2023), as published, but that a plan of ours is what it
 * changes and measures: lay out, take a critical buffer, run a path around it part by part in whichever way makes the arena
 * least, and begin anew; until no critical buffer gives a smaller arena. */
#ifndef MAFAT_SEARCH_FDT_FDT_H
#define MAFAT_SEARCH_FDT_FDT_H

#include "search/common/search.h"

/* A front of one plan: 1x1 groups, grids of tiles (FFMT) and split groups (FDT). Weights are kept; tiles of maps may compute
 * overlap again. MAFAT_ENOMEM; MAFAT_ELIMIT: no plan has countable bytes. */
int mafat_search_fdt(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d);

extern const struct mafat_search mafat_searching_fdt;

#endif
