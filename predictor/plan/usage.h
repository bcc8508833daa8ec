/* Use of each tensor in a plan: whether it is needed, and which layer reads it last. Used by
 * predictor/ and search/ranks. */
#ifndef MAFAT_PREDICTOR_PLAN_USAGE_H
#define MAFAT_PREDICTOR_PLAN_USAGE_H

#include "predictor/plan/plan.h"

struct mafat_usage {
  bool needed;   /* an output of the network depends on the tensor; for a layer's first output: on
                    any of the layer's outputs */
  bool external; /* read by another group, or an output of the network: exists as a whole map */
  bool any_external; /* for a layer's first output: any of the layer's outputs is external */
  int last_use;  /* last layer that reads it; plan->n_layers for an output; -1: none */
};

/* Fills usage[tensor]. Layers after the plan's last one count as not needed. Outputs are those of
 * mafat_network_is_output. */
void mafat_usage_find(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage);

/* True if the tensor is stored. A tensor without readers is not, even if its layer runs for another
 * output. */
static inline bool mafat_usage_is_read(const struct mafat_usage *u)
{
  return u->last_use >= 0;
}

#endif
