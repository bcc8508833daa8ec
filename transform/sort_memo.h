/* A cache of execution orders for the last graphs: searches schedule the same groups repeatedly. */
#ifndef MAFAT_TRANSFORM_SORT_MEMO_H
#define MAFAT_TRANSFORM_SORT_MEMO_H

#include "transform/sort.h"

struct mafat_sort_memo;

/* Opens a cache, whose entries are allocated in `heap`. MAFAT_ENOMEM. */
int mafat_sort_memo_open(struct mafat_sort_memo **memo, struct mafat_heap *heap);
void mafat_sort_memo_close(struct mafat_sort_memo **memo);

/* Calls mafat_sort if the result is not cached. memo NULL: no cache, and all memory is from `heap`;
 * else from the cache's heap. */
int mafat_sort_with_memo(struct mafat_sort_memo *memo, const struct mafat_sort_graph *g, enum mafat_sorting how,
                         long long effort, int *order, struct mafat_heap *heap);

#endif
