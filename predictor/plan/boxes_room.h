/* The room in which the boxes of a run are collected and compared, once its layers are done: in
 * the arena, over what is dead by then, as far as that reaches. As many are kept as there is room
 * for, the most confident; so how much memory detections take is known before anything runs. */
#ifndef MAFAT_PREDICTOR_PLAN_BOXES_ROOM_H
#define MAFAT_PREDICTOR_PLAN_BOXES_ROOM_H

#include "network/network.h"

enum {
  MAFAT_SCORED_BOX_BYTES = 32, /* a box with one of its classes (runner/detect/best_boxes.h) */
  MAFAT_DETECTION_BYTES = 24,  /* what the caller gets for it, in memory of its own, */
  MAFAT_POINT_BYTES = 8,       /* and for each point beside the box */
  /* Of these so much is part of late_bytes and MAFAT_CHARGE_AHEAD. */
  MAFAT_DETECTIONS_SHARE = 128 << 10
};

/* How many are kept, a box once for each class that is above the threshold: as many as are wanted; 0: as the heads of
 * the first n_layers, or those that read the outputs, have boxes, from 2304 to 4096. No more than there can be. */
size_t mafat_boxes_most(const struct mafat_network *n, int n_layers, int wanted);

/* Grids by which boxes are found that may overlap another (runner/detect/suppress.h): 1 x 1 cell, 2 x 2 and so on, all
 * together no more cells than boxes. */
enum { MAFAT_BOXES_LEVELS = 10 }; /* at most */
int mafat_boxes_levels(size_t most);
/* Cells of so many grids. */
static inline size_t mafat_boxes_cells(int n_levels)
{
  return (((size_t)1 << 2 * n_levels) - 1) / 3;
}

/* Of the room: the boxes, and behind them the cells, a number each. Multiple of 64. */
size_t mafat_boxes_room_bytes(size_t most);
/* What detections, of so many points each, come to beyond their share, with as much of the room as is not in the
 * arena. */
size_t mafat_boxes_late_bytes(size_t most, int points, size_t beyond_bytes);

#endif
