/* In-place rings: outputs of groups of rows that overlap what the group reads for the last time, where the plan has the word /inplace: row
 * by row they are written where rows have died. Both tensors are one buffer, a ring, in which the output's rows lie some
 * slots before the other's: as many as it is ahead of what is still needed, at most (its overlap distance).
 *
 * So do outputs of groups of tiles, in the same places, where each tile of the map that dies has been read before that of the
 * output is written, and is not read again.
 *
 * Both exist beyond the group, so they are whole maps, of rows of the same length; another tensor may overlap the output in a
 * later group, so that maps wander through one ring. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H

#include "predictor/plan/plan.h"

/* Fills plan->ring_shared_with and plan->overlap_distance; with `place` false, with nothing. Once the order is found. MAFAT_ENOMEM. */
int mafat_in_place_rings_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
