/* Balanced grids (named as future work in the MAFAT paper): finds tile boundaries that minimize the
 * largest tile's bytes. In an even grid, tiles at the map's edge need fewer bytes than inner tiles,
 * because they overlap other tiles on one side only. Called by planning.c. Changes the spec, with
 * memory from the spec's heap. */
#ifndef MAFAT_PREDICTOR_PLANNING_BALANCE_H
#define MAFAT_PREDICTOR_PLANNING_BALANCE_H

#include "predictor/planning/lay.h"

/* True for a grid of several tiles with ":balanced" whose boundaries are not set yet. */
bool mafat_balance_applies(const struct mafat_cut *cut);

/* Sets the boundaries of a spec's balanced grids, group by group. The spec must come from
 * mafat_plan_spec, because then a plan made from it has the same groups. Returns MAFAT_OK or an
 * error, such as MAFAT_ENOMEM. */
int mafat_balance(struct mafat_spec *spec, const struct mafat_ground *ground);

#endif
