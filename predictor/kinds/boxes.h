/* Decides how a yolo head is computed, so that the prediction and the run agree. Used by boxes.c
 * and runner/engine/kinds/boxes.c. */
#ifndef MAFAT_PREDICTOR_KINDS_BOXES_H
#define MAFAT_PREDICTOR_KINDS_BOXES_H

#include "base/tuning.h"
#include "network/network.h"

/* True if a yolo layer (also Gaussian) is activated by whole rows of a channel block; false: pixel
 * by pixel. Whole rows need an input whose channels start at the beginning of a channel block. */
static inline bool mafat_boxes_run_by_rows(const struct mafat_layer *yolo)
{
  return !yolo->head.new_coords && mafat_layer_sources(yolo)->n == 1 &&
         mafat_layer_sources(yolo)->list[0].first % MAFAT_CHANNEL_BLOCK == 0;
}

#endif
