/* Balanced grids (the paper's future work): finds tile boundaries that minimize the largest tile's
 * bytes. In an even grid, tiles at the map's edge are smaller than inner ones, because they need
 * overlap on one side only. Called by planning.c. */
#ifndef MAFAT_PREDICTOR_PLANNING_BALANCE_H
#define MAFAT_PREDICTOR_PLANNING_BALANCE_H

#include "predictor/planning/lay.h"

/* True for a grid whose boundaries are still to be found. */
bool mafat_balance_applies(const struct mafat_cut *cut);

/* Sets the boundaries of a spec's balanced grids, group by group. The spec must come from a plan
 * (mafat_plan_spec), so that its groups are those of the plan. MAFAT_ENOMEM. */
int mafat_balance(struct mafat_spec *spec, const struct mafat_ground *ground);

#endif
