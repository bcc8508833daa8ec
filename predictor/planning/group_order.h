/* Schedules the layers of each group as the plan's /order= asks, as operators and buffers
 * (transform/op_schedule.h). Called by lay.c. */
#ifndef MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H
#define MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H

#include "predictor/plan/plan.h"
#include "transform/op_schedule_memo.h"

/* Fills plan->order and plan->position by plan->op_order, for each group that is not by rows.
 * Layers that run together stay together. `place`: outputs will reuse dead buffers
 * (planning/in_place.h). `memo`: orders found before, or NULL. Call after the order and weight
 * placement are found. MAFAT_ENOMEM. */
int mafat_group_order_sort(struct mafat_plan *plan, const struct mafat_network *n, bool place,
                           struct mafat_op_schedule_memo *memo);

#endif
