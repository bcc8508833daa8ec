/* Finds the critical buffers of a layout, which prevent a smaller one: fused depthwise tiling is
 * applied to these.
 *
 * A chain is a list of buffers from the layout's top to its bottom, each directly above the next.
 * By the chain rule every buffer of a chain is critical, even if another chain is as high. By the
 * narrow rule a buffer is critical if every chain contains it, so that a smaller one gives a
 * smaller layout.
 *
 * Included by search/fdt/placing.h; called by search/fdt (placing.c, fdt.c). Allocates in the
 * caller's heap. */
#ifndef MAFAT_SEARCH_FDT_CRITICAL_H
#define MAFAT_SEARCH_FDT_CRITICAL_H

#include "base/heap.h"

#include <stdbool.h>
#include <stddef.h>

enum mafat_critical_rule {
  MAFAT_CRITICAL_CHAIN, /* Stahl's thesis */
  MAFAT_CRITICAL_ALONE  /* the paper before it */
};

/* Offsets and life (inclusive) of a buffer. */
struct mafat_allocation {
  size_t begin, end;
  int first, last;
};

/* Moves every buffer down to the highest buffer below it that lives at the same time, so that
 * chains have no gaps. Does nothing for more than MAFAT_MOST_SETTLED buffers. *total: highest end.
 * MAFAT_ENOMEM. */
int mafat_allocations_settle(size_t *total, struct mafat_allocation *extents, int n,
                             struct mafat_heap *heap);
enum { MAFAT_MOST_SETTLED = 8192 };

/* Fills critical[] (n) with the indices of the critical buffers, largest first, then by index.
 * Times of lives are not used. MAFAT_ENOMEM. */
int mafat_critical_find(int *critical, int *n_critical, const struct mafat_allocation *extents,
                        int n, size_t total, enum mafat_critical_rule rule,
                        struct mafat_heap *heap);

#endif
