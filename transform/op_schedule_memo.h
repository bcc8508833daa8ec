/* A cache of the last few execution orders found, because a search over plans schedules the same
 * groups of layers again and again. Included by predictor/planning/group_order.h and
 * search/best/best.c. Allocates the cache and its entries in the heap that its opener gives. */
#ifndef MAFAT_TRANSFORM_OP_SCHEDULE_MEMO_H
#define MAFAT_TRANSFORM_OP_SCHEDULE_MEMO_H

#include "transform/op_schedule.h"

struct mafat_op_schedule_memo;

/* Opens an empty cache. It and its entries are allocated in `heap`. Returns MAFAT_ENOMEM if out of
 * memory. */
int mafat_op_schedule_memo_open(struct mafat_op_schedule_memo **memo, struct mafat_heap *heap);
void mafat_op_schedule_memo_close(struct mafat_op_schedule_memo **memo);

/* Fills order[g->n_operators] from the cache, or else schedules the graph with mafat_op_schedule
 * and adds the order to the cache. The scheduler allocates in `heap`, and frees that. memo may be
 * NULL: no cache. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_op_schedule_with_memo(struct mafat_op_schedule_memo *memo, const struct mafat_op_graph *g,
                                enum mafat_op_order how, long long effort, int *order,
                                struct mafat_heap *heap);

#endif
