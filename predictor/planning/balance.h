/* Uneven tiles (the paper's future work): boundaries that minimise the largest
 * tile's bytes. Tiles at the map's edge grow back on one side only, so even
 * shares leave them smaller than the ones inside. */
#ifndef MAFAT_PREDICTOR_PLANNING_BALANCE_H
#define MAFAT_PREDICTOR_PLANNING_BALANCE_H

#include "predictor/planning/lay.h"

/* Is it a grid whose boundaries are yet to be found? */
bool mafat_balance_applies(const struct mafat_cut *cut);

/* Puts boundaries into a spec where they are to be found, group by group. The spec is
 * a plan's (mafat_plan_spec): none of its groups is split when it is laid. MAFAT_ENOMEM. */
int mafat_balance(struct mafat_spec *spec, const struct mafat_ground *ground);

#endif
