/* Property of heads with boxes that predictor and runner share. Used by boxes.c and
 * runner/engine/kinds/boxes.c. */
#ifndef MAFAT_PREDICTOR_KINDS_BOXES_H
#define MAFAT_PREDICTOR_KINDS_BOXES_H

#include "base/tuning.h"
#include "network/network.h"

/* True for a yolo layer (also Gaussian) whose channels start at a block: rows of a block are
 * activated as a whole. */
static inline bool mafat_boxes_run_by_rows(const struct mafat_layer *yolo)
{
  return !yolo->head.new_coords && mafat_layer_sources(yolo)->n == 1 &&
         mafat_layer_sources(yolo)->list[0].first % MAFAT_CHANNEL_BLOCK == 0;
}

#endif
