/* Makes a plan from a spec and a network: divides groups at layers that cannot be tiled, and
 * derives everything else from groups, options and shapes. Balanced grids whose boundaries are not
 * set yet become even; planning.h makes complete plans. Called by planning.c and balance.c. */
#ifndef MAFAT_PREDICTOR_PLANNING_LAY_H
#define MAFAT_PREDICTOR_PLANNING_LAY_H

#include "predictor/plan/plan.h"

/* Network, number of layers and options to which a spec is applied. */
struct mafat_ground {
  const struct mafat_network *network;
  int n_layers; /* only the first n_layers layers of the network run */
  const struct mafat_plan_options *options;
};

/* Makes a plan in the options' heap; the caller frees it by mafat_plan_close. Returns MAFAT_EINVAL,
 * with the reason in the diagnostic, if the spec does not fit this network; MAFAT_ENOMEM if out of
 * memory. *out is NULL after a failure. */
int mafat_lay(struct mafat_plan **out, const struct mafat_spec *spec,
              const struct mafat_ground *ground, struct mafat_diagnostic *d);

#endif
