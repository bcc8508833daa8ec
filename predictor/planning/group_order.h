/* Finds the execution order of the layers in each group by the method that the spec's "/order="
 * names (transform/op_schedule.h). Called by lay.c. Changes the plan and the memo. */
#ifndef MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H
#define MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H

#include "predictor/plan/plan.h"
#include "transform/op_schedule_memo.h"

/* Replaces the default order (plan->order, plan->position) of each group that is neither by rows
 * nor split by an order of method plan->op_order. Fused layers stay together. `place`: outputs will
 * reuse dead buffers (planning/in_place.h). `memo`: cache of orders found before, or NULL. Call
 * after the default order and weight placement are found. MAFAT_ENOMEM. */
int mafat_group_order_sort(struct mafat_plan *plan, const struct mafat_network *n, bool place,
                           struct mafat_op_schedule_memo *memo);

#endif
