/* The tilings that are proposed for a buffer, and what its tiles read. */
#ifndef MAFAT_SEARCH_FDT_TILING_H
#define MAFAT_SEARCH_FDT_TILING_H

#include "base/box.h"

#include <stdbool.h>

enum { MAFAT_FDT_MOST_PARTS = 25, MAFAT_FDT_MOST_SIDE = 5, MAFAT_FDT_MOST_TILINGS = 3 * 24 + 4 };

/* Parts along each axis; one along all is no tiling. Depth is never cut together with rows or columns. */
struct mafat_fdt_tiling {
  int h, w, c;
};

/* Fills list[MAFAT_FDT_MOST_TILINGS]: along depth, then rows, then columns, then both. Returns how many. */
int mafat_fdt_tilings(int h, int w, int c, struct mafat_fdt_tiling *list);

/* Part i of n, of which the first ones take one more where it does not come out even: 64 in 3 are 22, 21 and 21. */
struct mafat_span mafat_fdt_part(int extent, int n, int i);

/* Do tiles of a layer with this window read more than their share along this axis? */
static inline bool mafat_fdt_overlaps(int kernel, int stride)
{
  return kernel > stride;
}

/* What of an input of so much extent is read for this span of the output. */
struct mafat_span mafat_fdt_input(struct mafat_span out, int kernel, int stride, int pad, int extent);

#endif
