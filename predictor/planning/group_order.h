/* The layers of a group as operators and buffers (transform/sort.h), and the order that a plan wants of them. */
#ifndef MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H
#define MAFAT_PREDICTOR_PLANNING_GROUP_ORDER_H

#include "predictor/plan/plan.h"
#include "transform/sort_memo.h"

/* Puts plan->order and plan->position in the order plan->sorting, group by group, but those by rows, whose layers take
 * turns. Layers that run together stay together. `place`: outputs will take the place of what dies (planning/in_place.h).
 * `memo`: of orders, or NULL. After the order and weight placement are found. MAFAT_ENOMEM. */
int mafat_group_order_sort(struct mafat_plan *plan, const struct mafat_network *n, bool place, struct mafat_sort_memo *memo);

#endif
