/* Applies a spec to a network: divides groups at layers that cannot be tiled, sets boundaries, and
 * derives everything from groups and shapes. Balanced boundaries are left even here; planning.h
 * makes whole plans. Called by planning.c and balance.c. */
#ifndef MAFAT_PREDICTOR_PLANNING_LAY_H
#define MAFAT_PREDICTOR_PLANNING_LAY_H

#include "predictor/plan/plan.h"

/* Target of a spec: a network and options. */
struct mafat_ground {
  const struct mafat_network *network;
  int n_layers; /* only the first n_layers */
  const struct mafat_plan_options *options;
};

/* MAFAT_EINVAL with the reason if the spec does not fit this network; MAFAT_ENOMEM. */
int mafat_lay(struct mafat_plan **out, const struct mafat_spec *spec,
              const struct mafat_ground *ground, struct mafat_diagnostic *d);

#endif
