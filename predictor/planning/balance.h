/* Uneven tiles (the paper's future work): finds boundaries that minimize the largest tile's bytes.
 * Tiles at the map's edge need overlap on one side only, so even shares make them smaller than
 * inner ones. Called by planning.c. */
#ifndef MAFAT_PREDICTOR_PLANNING_BALANCE_H
#define MAFAT_PREDICTOR_PLANNING_BALANCE_H

#include "predictor/planning/lay.h"

/* True for a grid whose boundaries are still to be found. */
bool mafat_balance_applies(const struct mafat_cut *cut);

/* Sets the boundaries of a spec's balanced grids, group by group. The spec comes from a plan
 * (mafat_plan_spec), so laying it splits none of its groups. MAFAT_ENOMEM. */
int mafat_balance(struct mafat_spec *spec, const struct mafat_ground *ground);

#endif
