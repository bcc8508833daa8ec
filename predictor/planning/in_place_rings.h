/* If a plan's text ends in /inplace, an output of a group that runs by rows may share its buffer
 * with a dying map: one that this group is the last to read. Such a buffer is an in-place ring of
 * rows. The slot of the output's row y is that of the map's row y, minus a fixed number of slots,
 * the overlap distance. So a row of the output only overwrites rows that are no longer needed.
 * Called by lay.c. Fills two arrays of the plan, allocated from the plan's heap.
 *
 * In groups of tiles the overlap distance is 0. An output and a dying map can share a buffer if no
 * pixel of the map is read after the output's pixel at the same place is written.
 *
 * Both tensors exist outside the group, so they are whole maps. Their rows have equal length. In a
 * later group another output may share the same ring, so one ring can serve many maps. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H

#include "predictor/plan/plan.h"

/* Fills plan->ring_shared_with and plan->overlap_distance; if `place` is false, without any rings.
 * Call after mafat_in_place_find. MAFAT_ENOMEM. */
int mafat_in_place_rings_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
