/* Operator scheduling: finds an execution order with a small memory peak. The order determines
 * which tensors live at the same time. Included by predictor/schedule/parts_order.c and
 * transform/op_schedule_memo.h. Allocates in the scheduler's heap. */
#ifndef MAFAT_TRANSFORM_OP_SCHEDULE_H
#define MAFAT_TRANSFORM_OP_SCHEDULE_H

#include "transform/op_scheduler.h"
#include "transform/op_order.h"

/* about some seconds, unless an optimum is proven sooner */
enum { MAFAT_USUAL_EFFORT = 100 * 1000 * 1000 };

/* Fills order[n_operators]. The result depends only on graph and effort, on any machine. `effort`
 * limits MAFAT_OP_ORDER_BEST, which ends sooner if the smallest peak is proven. MAFAT_ENOMEM. */
int mafat_op_schedule(struct mafat_op_scheduler *s, enum mafat_op_order how, long long effort,
                      int *order, struct mafat_op_schedule_result *sorted);

#endif
