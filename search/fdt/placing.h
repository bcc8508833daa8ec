/* The buffers of a plan with their offsets. The search "fdt" looks for critical buffers in them.
 * Included by search/fdt/climb.c and search/fdt/fdt.c. Allocates in request->options->heap. */
#ifndef MAFAT_SEARCH_FDT_PLACING_H
#define MAFAT_SEARCH_FDT_PLACING_H

#include "search/fdt/critical.h"
#include "search/common/request.h"

struct mafat_placing {
  struct mafat_heap *heap;
  struct mafat_allocation *extents; /* (n) */
  int *tensors;                 /* (n) tensor that the buffer holds; -1: none */
  int n;
  size_t total;                     /* highest end, in bytes */
};

/* Computes the offsets of a plan: by hill climbing if `climbing`, else those of its layout, with
 * each buffer moved down as far as possible. The caller frees *out. Returns MAFAT_OK or an error of
 * mafat_plan_make or mafat_layout_make; then *out is empty. */
int mafat_placing_make(struct mafat_placing *out, const struct mafat_search_request *request,
                       const struct mafat_spec *spec, bool climbing, struct mafat_diagnostic *d);
void mafat_placing_free(struct mafat_placing *p);

/* Assigns offsets by hill climbing with simulated annealing, like TVM. At first, the largest buffer
 * is placed first, each at the lowest free offset. Then, repeatedly, a highest buffer and one that
 * lives at the same time swap their places in this order. Deterministic. Leaves the offsets
 * unchanged if there are more than MAFAT_MOST_CLIMBED buffers. *total: highest end. Returns
 * MAFAT_OK or MAFAT_ENOMEM. */
int mafat_allocations_climb(size_t *total, struct mafat_allocation *extents, int n,
                            struct mafat_heap *heap);
enum { MAFAT_MOST_CLIMBED = 2048 };

#endif
