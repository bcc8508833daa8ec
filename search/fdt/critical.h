/* Finds the critical buffers of a layout: those that decide how large it is. The search "fdt"
 * splits the layers around them.
 *
 * A chain is a list of buffers from the layout's top to offset 0, each directly above the next. By
 * the chain rule every buffer of a chain is critical, even if another chain is as high. By the
 * narrow rule a buffer is critical only if every chain contains it. The layout gets smaller if such
 * a buffer does.
 *
 * Included by search/fdt/placing.h; called by search/fdt (placing.c, fdt.c). Temporary memory is in
 * the caller's heap. */
#ifndef MAFAT_SEARCH_FDT_CRITICAL_H
#define MAFAT_SEARCH_FDT_CRITICAL_H

#include "base/heap.h"

#include <stdbool.h>
#include <stddef.h>

enum mafat_critical_rule {
  MAFAT_CRITICAL_CHAIN, /* the chain rule, of Stahl's thesis */
  MAFAT_CRITICAL_ALONE  /* the narrow rule, of the paper (Stahl et al. 2023) */
};

/* Offsets and lifetime of a buffer. */
struct mafat_allocation {
  size_t begin, end; /* bytes; end: exclusive */
  int first, last;   /* times; last: inclusive */
};

/* Moves every buffer down to the end of the highest buffer below it that lives at the same time, so
 * that chains have no gaps. Moves none if there are more than MAFAT_MOST_SETTLED. *total: highest
 * end. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_allocations_settle(size_t *total, struct mafat_allocation *extents, int n,
                             struct mafat_heap *heap);
enum { MAFAT_MOST_SETTLED = 8192 };

/* Fills critical[0 ... *n_critical - 1] with the indices of the critical buffers, largest first,
 * then by index. critical has n entries. total: highest end of the layout. Lifetimes are ignored.
 * Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_critical_find(int *critical, int *n_critical, const struct mafat_allocation *extents,
                        int n, size_t total, enum mafat_critical_rule rule,
                        struct mafat_heap *heap);

#endif
