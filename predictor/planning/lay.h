/* A spec laid over a network: groups split where a layer cannot be cut, boundaries,
 * and all that groups and shapes decide. The making of plans but for boundaries that
 * are to be balanced: those are even here (planning.h makes whole plans). */
#ifndef MAFAT_PREDICTOR_PLANNING_LAY_H
#define MAFAT_PREDICTOR_PLANNING_LAY_H

#include "predictor/plan/plan.h"

/* What a spec is laid over, and how. */
struct mafat_ground {
  const struct mafat_network *network;
  int n_layers; /* the first so many */
  const struct mafat_plan_options *options;
};

/* MAFAT_EINVAL with the reason when the spec is none for this network; MAFAT_ENOMEM. */
int mafat_lay(struct mafat_plan **out, const struct mafat_spec *spec, const struct mafat_ground *ground,
              struct mafat_diagnostic *d);

#endif
