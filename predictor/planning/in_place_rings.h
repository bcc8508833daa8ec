/* In-place rings: with /inplace, an output of a group by rows shares a buffer with a map that the
 * group reads for the last time (the dying map). The buffer is a ring of rows. The output's rows
 * are stored a fixed number of slots ahead of the map's, the overlap distance, so that each
 * overwrites rows that are dead. Called by lay.c.
 *
 * In groups of tiles the overlap distance is 0. An output and a dying map can share a buffer if no
 * pixel of the map is read after the output's pixel is written.
 *
 * Both tensors exist outside the group, so they are whole maps; their rows have equal length. In a
 * later group another output may share the same ring, so one ring can serve many maps. */
#ifndef MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H
#define MAFAT_PREDICTOR_PLANNING_IN_PLACE_RINGS_H

#include "predictor/plan/plan.h"

/* Fills plan->ring_shared_with and plan->overlap_distance; without rings if `place` is false. Call
 * after the order is found. MAFAT_ENOMEM. */
int mafat_in_place_rings_find(struct mafat_plan *plan, const struct mafat_network *n, bool place);

#endif
