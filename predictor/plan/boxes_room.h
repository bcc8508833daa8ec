/* Memory in which the boxes of a run are collected and compared after its layers are done. It
 * reuses the arena, whose buffers are dead by then, and extends past its end if necessary. If there
 * are more boxes than capacity, the most confident are kept. So the memory for detections is known
 * before anything runs. Used by predictor/layout/maker.c, predictor/cost/predict.c and
 * runner/detect. */
#ifndef MAFAT_PREDICTOR_PLAN_BOXES_ROOM_H
#define MAFAT_PREDICTOR_PLAN_BOXES_ROOM_H

#include "network/network.h"

enum {
  MAFAT_SCORED_BOX_BYTES = 32, /* a box with one of its classes (runner/detect/best_boxes.h) */
  MAFAT_DETECTION_BYTES = 24,  /* bytes that the caller gets for it, in separate memory */
  MAFAT_POINT_BYTES = 8,       /* bytes for each point besides the box */
  /* part of the caller's detections covered by late_bytes and MAFAT_CHARGE_AHEAD */
  MAFAT_DETECTIONS_SHARE = 128 << 10
};

/* Capacity in boxes, counting a box once for each class above the threshold. `wanted` boxes; if 0,
 * as many as the heads have, from 2304 to 4096. The heads are those of the first n_layers, or of
 * the outputs. Never more than can occur. */
size_t mafat_boxes_most(const struct mafat_network *n, int n_layers, int wanted);

/* Grids that find boxes which may overlap another (runner/detect/suppress.h): 1 x 1 cell, 2 x 2 and
 * so on. All grids together have no more cells than boxes. */
enum { MAFAT_BOXES_LEVELS = 10 }; /* upper bound */
int mafat_boxes_levels(size_t most);
/* Cells of n_levels grids. */
static inline size_t mafat_boxes_cells(int n_levels)
{
  return (((size_t)1 << 2 * n_levels) - 1) / 3;
}

/* Bytes of the boxes followed by the cells, an integer each. Multiple of 64. */
size_t mafat_boxes_room_bytes(size_t most);
/* Bytes beyond MAFAT_DETECTIONS_SHARE for detections with `points` points each, plus the memory
 * past the end of the arena. */
size_t mafat_boxes_late_bytes(size_t most, int points, size_t beyond_bytes);

#endif
