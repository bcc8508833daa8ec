/* Who needs a layer's output, and until when: the edges of a network seen
 * through a plan. */
#ifndef MAFAT_PREDICTOR_PLAN_USAGE_H
#define MAFAT_PREDICTOR_PLAN_USAGE_H

#include "predictor/plan/plan.h"

struct mafat_usage {
  bool needed;   /* some output of the network depends on it */
  bool external; /* read by a later group, or an output of the network: must exist as a whole map */
  int last_use;  /* last layer that reads it; plan->n_layers when it is an output */
};

/* Fills usage[operator]; of layers behind the plan's last one, as of what nobody needs. Outputs
 * are those of mafat_network_is_output. */
void mafat_usage_find(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage);

#endif
