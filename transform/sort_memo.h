/* Orders that were found, of the last graphs that were sorted: searches ask for the same groups again and again. */
#ifndef MAFAT_TRANSFORM_SORT_MEMO_H
#define MAFAT_TRANSFORM_SORT_MEMO_H

#include "transform/sort.h"

struct mafat_sort_memo;

/* In a heap; what is noted lies there, too. MAFAT_ENOMEM. */
int mafat_sort_memo_open(struct mafat_sort_memo **memo, struct mafat_heap *heap);
void mafat_sort_memo_close(struct mafat_sort_memo **memo);

/* As mafat_sort in the memo's heap, of what the memo has not; NULL: it has nothing, and all is in `heap`. */
int mafat_sort_with_memo(struct mafat_sort_memo *memo, const struct mafat_sort_graph *g, enum mafat_sorting how,
                         long long effort, int *order, struct mafat_heap *heap);

#endif
