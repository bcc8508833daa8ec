/* The buffers of a plan with their offsets, in which the flow looks for critical ones. Included by
 * search/fdt/climb.c and search/fdt/fdt.c. Allocates in the options' heap. */
#ifndef MAFAT_SEARCH_FDT_PLACING_H
#define MAFAT_SEARCH_FDT_PLACING_H

#include "search/fdt/critical.h"
#include "search/common/request.h"

struct mafat_placing {
  struct mafat_heap *heap;
  struct mafat_allocation *extents; /* (n) */
  int *tensors;                 /* (n) tensor that the buffer holds; -1: none */
  int n;
  size_t total;
};

/* Computes the offsets of a plan's arena, with each buffer moved down; or by hill climbing if
 * `climbing`. Errors of plans and layouts. */
int mafat_placing_make(struct mafat_placing *out, const struct mafat_search_request *request,
                       const struct mafat_spec *spec, bool climbing, struct mafat_diagnostic *d);
void mafat_placing_free(struct mafat_placing *p);

/* Hill climbing with simulated annealing, like TVM's. Buffers are placed in an order, largest
 * first, each at the lowest free offset. Then a highest buffer and one that lives at the same time
 * swap places in the order, repeatedly. Deterministic. Does nothing for more than
 * MAFAT_MOST_CLIMBED buffers. *total: highest end. MAFAT_ENOMEM. */
int mafat_allocations_climb(size_t *total, struct mafat_allocation *extents, int n,
                            struct mafat_heap *heap);
enum { MAFAT_MOST_CLIMBED = 2048 };

#endif
