/* Which buffers of a layout count: those that have to become smaller before the layout does. */
#ifndef MAFAT_SEARCH_FDT_CRITICAL_H
#define MAFAT_SEARCH_FDT_CRITICAL_H

#include "base/heap.h"

#include <stdint.h>

/* Where a buffer lies. Layouts have to be pushed down first: each buffer lies on the floor or on another one. */
struct mafat_fdt_place {
  uint64_t begin, end;
};

enum mafat_fdt_reading {
  MAFAT_FDT_CHAINS, /* it is in a chain of buffers, each of which begins where the next one ends, from the total to 0 */
  MAFAT_FDT_ALONE   /* it is in every such chain: the layout cannot shrink without it, and may by it alone */
};

/* Fills critical[n] with numbers of buffers, largest first, of equals the earlier; *n_critical: how many. A place without
 * bytes is none. MAFAT_ENOMEM. */
int mafat_fdt_critical(const struct mafat_fdt_place *places, int n, uint64_t total, enum mafat_fdt_reading reading,
                       struct mafat_heap *heap, int *critical, int *n_critical);

#endif
