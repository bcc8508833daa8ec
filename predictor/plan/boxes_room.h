/* Size of the memory in which detected boxes are collected and compared, after the layers have run.
 * This memory is in the arena, where most buffers are dead by then, and extends past its end if
 * necessary. Its capacity is fixed before a run; of more boxes, the most confident are kept. Used
 * by predictor/layout/maker.c, predictor/cost/predict.c and runner/detect. Touches only its
 * arguments. */
#ifndef MAFAT_PREDICTOR_PLAN_BOXES_ROOM_H
#define MAFAT_PREDICTOR_PLAN_BOXES_ROOM_H

#include "network/network.h"

enum {
  MAFAT_SCORED_BOX_BYTES = 32, /* a box with one of its classes (runner/detect/best_boxes.h) */
  MAFAT_DETECTION_BYTES = 24,  /* a detection that is returned to the caller, in other memory */
  MAFAT_POINT_BYTES = 8,       /* a point that is returned with a detection */
  /* bytes of returned detections that late_bytes and MAFAT_CHARGE_AHEAD (predict.h) cover */
  MAFAT_DETECTIONS_SHARE = 128 << 10
};

/* Capacity in boxes, where a box counts once for each class above the threshold. Returns `wanted`;
 * if that is 0, the number of boxes of all heads, but at least 2304 and at most 4096. Never returns
 * more than can occur. Only heads in the first n_layers, or the decoded outputs, count. */
size_t mafat_boxes_most(const struct mafat_network *n, int n_layers, int wanted);

/* Number of grids (1 x 1 cells, 2 x 2, 4 x 4 and so on) by which boxes that may overlap another box
 * are found (runner/detect/suppress.h). All grids together have at most `most` cells, or one
 * cell. */
enum { MAFAT_BOXES_LEVELS = 10 }; /* upper bound of the number of grids */
int mafat_boxes_levels(size_t most);
/* Number of cells of n_levels grids together: 1 + 4 + 16 + ... */
static inline size_t mafat_boxes_cells(int n_levels)
{
  return (((size_t)1 << 2 * n_levels) - 1) / 3;
}

/* Bytes of `most` boxes, and of the grids' cells, which have a 32-bit integer each. A multiple of
 * 64. */
size_t mafat_boxes_room_bytes(size_t most);
/* Bytes of `most` returned detections with `points` points each, plus beyond_bytes of boxes past
 * the end of the arena, minus MAFAT_DETECTIONS_SHARE; at least 0. */
size_t mafat_boxes_late_bytes(size_t most, int points, size_t beyond_bytes);

#endif
