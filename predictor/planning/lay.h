/* Applies a spec to a network, which gives a plan: divides groups at layers that cannot be tiled,
 * and derives everything else from groups, options and shapes. Grids that are to be balanced stay
 * even; planning.h makes complete plans. Called by planning.c and balance.c. */
#ifndef MAFAT_PREDICTOR_PLANNING_LAY_H
#define MAFAT_PREDICTOR_PLANNING_LAY_H

#include "predictor/plan/plan.h"

/* Target of a spec: a network and options. */
struct mafat_ground {
  const struct mafat_network *network;
  int n_layers; /* only the first n_layers */
  const struct mafat_plan_options *options;
};

/* Makes a plan, in the options' heap. MAFAT_EINVAL: the spec does not fit this network, and the
 * diagnostic says why; MAFAT_ENOMEM. *out is NULL after a failure. */
int mafat_lay(struct mafat_plan **out, const struct mafat_spec *spec,
              const struct mafat_ground *ground, struct mafat_diagnostic *d);

#endif
