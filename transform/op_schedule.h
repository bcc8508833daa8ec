/* Operator scheduling: finds an order of execution with a small memory peak. The order determines
 * which buffers are in memory at the same time. Included by predictor/schedule/parts_order.c and
 * transform/op_schedule_memo.h. Allocates in the scheduler's heap. */
#ifndef MAFAT_TRANSFORM_OP_SCHEDULE_H
#define MAFAT_TRANSFORM_OP_SCHEDULE_H

#include "transform/op_scheduler.h"
#include "transform/op_order.h"

/* The usual `effort`, in evaluated steps. It takes a few seconds, or less if an order is proven to
 * be the best before that. */
enum { MAFAT_USUAL_EFFORT = 100 * 1000 * 1000 };

/* Fills order[n_operators], and `sorted` with the order's peak. MAFAT_OP_ORDER_BEST stops after
 * evaluating `effort` steps of operators; the other methods ignore `effort`. Because steps are
 * limited and not time, the order depends only on the graph, the method and `effort`, and is the
 * same on any machine. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_op_schedule(struct mafat_op_scheduler *s, enum mafat_op_order how, long long effort,
                      int *order, struct mafat_op_schedule_result *sorted);

#endif
