/* A cache of execution orders for the last graphs: searches schedule the same groups repeatedly.
 * Included by predictor/planning/group_order.h and search/best/best.c. Allocates entries in its
 * heap. */
#ifndef MAFAT_TRANSFORM_OP_SCHEDULE_MEMO_H
#define MAFAT_TRANSFORM_OP_SCHEDULE_MEMO_H

#include "transform/op_schedule.h"

struct mafat_op_schedule_memo;

/* Opens a cache, whose entries are allocated in `heap`. MAFAT_ENOMEM. */
int mafat_op_schedule_memo_open(struct mafat_op_schedule_memo **memo, struct mafat_heap *heap);
void mafat_op_schedule_memo_close(struct mafat_op_schedule_memo **memo);

/* Calls mafat_op_schedule if the result is not cached. memo NULL: no cache, and all memory is from
 * `heap`; else from the cache's heap. */
int mafat_op_schedule_with_memo(struct mafat_op_schedule_memo *memo, const struct mafat_op_graph *g,
                                enum mafat_op_order how, long long effort, int *order,
                                struct mafat_heap *heap);

#endif
