/* In-place rings: with /inplace, the output of a group of rows overlaps a map that the group reads
 * for the last time. Both are in one buffer, a ring; each output row is written over rows that are
 * dead. The output is a fixed number of slots ahead, the overlap distance: the most rows by which
 * it is ahead of the rows still needed. Called by lay.c.
 *
 * Outputs of groups of tiles overlap in the same slots, if each tile of the dying map is read
 * before the output's tile is written, and never again.
 *
 * Both exist outside the group, so they are whole maps with rows of equal length. In a later group
 * another tensor may overlap the output, so one ring can serve many maps in turn. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H

#include "predictor/plan/plan.h"

/* Fills plan->ring_shared_with and plan->overlap_distance; with no rings if `place` is false. Call
 * after the order is found. MAFAT_ENOMEM. */
int mafat_in_place_rings_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
