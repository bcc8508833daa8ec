/* The buffers of a plan, placed: what critical ones are sought in, and what the flow makes smaller. */
#ifndef MAFAT_SEARCH_FDT_PLACING_H
#define MAFAT_SEARCH_FDT_PLACING_H

#include "search/fdt/critical.h"
#include "search/common/request.h"

struct mafat_placing {
  struct mafat_heap *heap;
  struct mafat_extent *extents; /* (n) */
  int *tensors;                 /* (n): which layer's or input's map it holds; -1: none */
  int n;
  size_t total;
};

/* As the plan's arena has them, each as low as it can fall; or by hill climbing, as `climbing` says. Errors as of
 * plans and layouts. */
int mafat_placing_make(struct mafat_placing *out, const struct mafat_search_request *request, const struct mafat_spec *spec,
                       bool climbing, struct mafat_diagnostic *d);
void mafat_placing_free(struct mafat_placing *p);

/* Hill climbing with simulated annealing, as TVM's: buffers are placed in an order, the largest first, each where it finds room
 * lowest; then one that is highest and one that lives with it change their places in the order, again and again. The same
 * every time. Of more than MAFAT_MOST_CLIMBED none moves. *total: where the highest ends. MAFAT_ENOMEM. */
int mafat_extents_climb(size_t *total, struct mafat_extent *extents, int n, struct mafat_heap *heap);
enum { MAFAT_MOST_CLIMBED = 2048 };

#endif
