/* Which buffers of a layout keep it from being smaller: fused depthwise tiling works at these alone.
 *
 * A chain is a list of buffers from the layout's end down to its beginning, each of which ends where the one above it
 * begins. By the chain rule every buffer of a chain counts, also where another chain is as high; by the narrow reading a
 * buffer counts if no chain does without it: a smaller one then makes a smaller layout. */
#ifndef MAFAT_SEARCH_FDT_CRITICAL_H
#define MAFAT_SEARCH_FDT_CRITICAL_H

#include "base/heap.h"

#include <stdbool.h>
#include <stddef.h>

enum mafat_critical_rule {
  MAFAT_CRITICAL_CHAIN, /* Stahl's thesis */
  MAFAT_CRITICAL_ALONE  /* the paper before it */
};

/* Where a buffer lies, and when it lives (inclusive). */
struct mafat_extent {
  size_t begin, end;
  int first, last;
};

/* Lets every buffer fall as low as those that live at the same time and lie below it let it: else chains break. Of more
 * than MAFAT_MOST_SETTLED nothing falls. *total: where the highest ends. MAFAT_ENOMEM. */
int mafat_extents_settle(size_t *total, struct mafat_extent *extents, int n, struct mafat_heap *heap);
enum { MAFAT_MOST_SETTLED = 8192 };

/* Fills critical[] (n) with the numbers of the buffers that count in a layout of so much, largest first, of equals the
 * first first; *n_critical: how many. Times do not matter here. MAFAT_ENOMEM. */
int mafat_critical_find(int *critical, int *n_critical, const struct mafat_extent *extents, int n, size_t total,
                        enum mafat_critical_rule rule, struct mafat_heap *heap);

#endif
