/* Finds the critical buffers of a layout: those that decide how large it is. The search "fdt"
 * splits the layers around them.
 *
 * A chain is a list of buffers from the end of the layout down to offset 0; each begins where the
 * next one in the list ends. By the chain rule, every buffer of a chain is critical, even if there
 * are other chains. By the narrow rule, a buffer is critical only if every chain contains it; then
 * the layout gets smaller if the buffer gets smaller.
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
  size_t begin, end; /* bytes [begin, end) of the arena */
  int first, last;   /* first and last time of use (layout/layout.h: mafat_buffer) */
};

/* Moves every buffer down until it touches a buffer that is in use at the same time, or offset 0.
 * So chains have no gaps. Moves none if there are more than MAFAT_MOST_SETTLED buffers. *total: end
 * of the layout, the highest end of a buffer. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_allocations_settle(size_t *total, struct mafat_allocation *extents, int n,
                             struct mafat_heap *heap);
enum { MAFAT_MOST_SETTLED = 8192 };

/* Fills critical[0 ... *n_critical - 1] with the indices of the critical buffers, sorted by
 * descending size, then by ascending index. critical has room for n entries. total: end of the
 * layout. Lifetimes are ignored. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_critical_find(int *critical, int *n_critical, const struct mafat_allocation *extents,
                        int n, size_t total, enum mafat_critical_rule rule,
                        struct mafat_heap *heap);

#endif
