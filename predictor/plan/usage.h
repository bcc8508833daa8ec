/* Who needs a layer's output, and until when: the edges of a network seen
 * through a plan. */
#ifndef MAFAT_PREDICTOR_PLAN_USAGE_H
#define MAFAT_PREDICTOR_PLAN_USAGE_H

#include "predictor/plan/plan.h"

struct mafat_usage {
  bool needed;   /* some output of the network depends on it; of a layer's first output: on any of its outputs */
  bool external; /* read by a later group, or an output of the network: must exist as a whole map */
  bool any_external; /* of a layer's first output: one of its outputs is external */
  int last_use;  /* last layer that reads it; plan->n_layers when it is an output; -1: nobody reads it */
};

/* Fills usage[tensor]; of layers behind the plan's last one, as of what nobody needs. Outputs
 * are those of mafat_network_is_output. */
void mafat_usage_find(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage);

/* Is the tensor made at all? An output that nobody reads is not, though its layer may run for another one. */
static inline bool mafat_usage_is_read(const struct mafat_usage *u)
{
  return u->last_use >= 0;
}

#endif
