/* Computes the offsets and lifetimes of a plan's buffers. The search "fdt" finds critical buffers
 * among them (critical.h). Included by search/fdt/climb.c and search/fdt/fdt.c. Allocates from
 * request->options->heap. */
#ifndef MAFAT_SEARCH_FDT_PLACING_H
#define MAFAT_SEARCH_FDT_PLACING_H

#include "search/fdt/critical.h"
#include "search/common/request.h"

struct mafat_placing {
  struct mafat_heap *heap;
  struct mafat_allocation *extents; /* (n) */
  int *tensors;                 /* (n) tensor that the buffer holds; -1: none */
  int n;
  size_t total;                     /* highest end of a buffer, in bytes */
};

/* Computes the offsets of a spec's plan: by hill climbing if `climbing`; else they are those of its
 * layout, with each buffer moved down as far as possible. The caller frees *out by
 * mafat_placing_free. Returns MAFAT_OK, MAFAT_ENOMEM or an error of mafat_plan_make or
 * mafat_layout_make; then there is nothing to free. */
int mafat_placing_make(struct mafat_placing *out, const struct mafat_search_request *request,
                       const struct mafat_spec *spec, bool climbing, struct mafat_diagnostic *d);
void mafat_placing_free(struct mafat_placing *p);

/* Assigns offsets by hill climbing with simulated annealing, as TVM does. A layout places the
 * buffers in a certain order, each at the lowest free offset. The first order is by descending
 * size. Each new order swaps a buffer that ends at the end of the layout with one that is in use at
 * the same time. The result is always the same. Leaves the offsets unchanged if there are more than
 * MAFAT_MOST_CLIMBED buffers. *total: highest end of a buffer. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_allocations_climb(size_t *total, struct mafat_allocation *extents, int n,
                            struct mafat_heap *heap);
enum { MAFAT_MOST_CLIMBED = 2048 };

#endif
