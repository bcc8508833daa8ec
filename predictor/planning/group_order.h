/* Finds the execution order of the layers in each group by the method that the spec's "/order="
 * names (transform/op_schedule.h). Called by lay.c. Changes the plan and the memo. */
#ifndef MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H
#define MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H

#include "predictor/plan/plan.h"
#include "transform/op_schedule_memo.h"

/* In each group that is neither by rows nor split, replaces the default order (plan->order,
 * plan->position) by the order that the method plan->op_order finds. Fused layers stay together.
 * place: true if outputs will reuse dead buffers (planning/in_place.h). memo: cache of orders that
 * earlier calls found, or NULL. Call after the default order and weight placement are found.
 * Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_group_order_sort(struct mafat_plan *plan, const struct mafat_network *n, bool place,
                           struct mafat_op_schedule_memo *memo);

#endif
