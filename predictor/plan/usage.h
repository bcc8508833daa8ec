/* Use of each tensor in a plan: whether it is needed, and which layer reads it last. Used by
 * predictor/ and search/. Fills the caller's list; allocates nothing. */
#ifndef MAFAT_PREDICTOR_PLAN_USAGE_H
#define MAFAT_PREDICTOR_PLAN_USAGE_H

#include "predictor/plan/plan.h"

struct mafat_usage {
  bool needed;   /* an output of the network depends on the tensor. The first output of a layer is
                    also needed if any other output of the layer is */
  bool external; /* another group reads the tensor, or it is an output of the network; so it exists
                    as a whole map */
  bool any_external; /* for a layer's first output: any of the layer's outputs is external */
  int last_use;  /* number of the last layer that reads the tensor; plan->n_layers for an output of
                    the network; -1: no reader */
};

/* Fills usage[tensor] for all tensors of the network. Layers after the plan's last one count as not
 * needed. The network's outputs are those of mafat_network_is_output. */
void mafat_usage_find(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage);

/* True if the tensor has readers and so is stored. A tensor without readers is not stored, even if
 * its layer runs for the sake of another output. */
static inline bool mafat_usage_is_read(const struct mafat_usage *u)
{
  return u->last_use >= 0;
}

#endif
