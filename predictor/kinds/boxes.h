/* What the predictor and the runner both know of heads of boxes. */
#ifndef MAFAT_PREDICTOR_KINDS_BOXES_H
#define MAFAT_PREDICTOR_KINDS_BOXES_H

#include "base/tuning.h"
#include "network/network.h"

/* A yolo layer with its channels in blocks of their own: whole rows of a block are activated at
 * once. */
static inline bool mafat_boxes_run_by_rows(const struct mafat_layer *yolo)
{
  return !yolo->head.new_coords && mafat_layer_sources(yolo)->n == 1 && mafat_layer_sources(yolo)->list[0].first % MAFAT_CHANNEL_BLOCK == 0;
}

#endif
