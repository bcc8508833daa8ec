/* Computes the size of the memory for detected boxes. Called by predictor/layout/maker.c,
 * predictor/cost/predict.c and runner/detect/suppress.c. Touches only its arguments. */
#include "predictor/plan/boxes_room.h"

#include "base/part.h"

/* Bounds of the default capacity, in boxes. A trained network has some hundred boxes above a
 * confidence of 0.005, so it exceeds the capacity only at thresholds that nobody uses. */
enum { USUAL_LEAST = 2304, USUAL_MOST = 4096 };

MAFAT_PART(opening) size_t mafat_boxes_most(const struct mafat_network *n, int n_layers, int wanted)
{
  uint64_t boxes = 0, scored = 0, most = (uint64_t)wanted;
  for (int l = 0; l < n_layers; l++) {
    uint64_t of_layer = mafat_layer_boxes(&n->layers[l]);
    boxes += of_layer;
    scored += of_layer * (uint64_t)n->layers[l].head.classes;
  }
  if (n->decoded.nothing) return 0;
  if (n->decoded.head) {
    boxes = n->decoded.boxes;
    scored = n->decoded.best ? boxes : boxes * (uint64_t)n->decoded.classes;
  }
  if (!wanted) most = boxes < USUAL_LEAST ? USUAL_LEAST : boxes > USUAL_MOST ? USUAL_MOST : boxes;
  return (size_t)(scored < most ? scored : most);
}

int mafat_boxes_levels(size_t most)
{
  int n = 1;
  while (n < MAFAT_BOXES_LEVELS && mafat_boxes_cells(n + 1) <= most) n++;
  return n;
}

MAFAT_PART(opening) size_t mafat_boxes_room_bytes(size_t most)
{
  if (most == 0) return 0;
  size_t bytes = most * MAFAT_SCORED_BOX_BYTES +
                 mafat_boxes_cells(mafat_boxes_levels(most)) * sizeof(uint32_t);
  return (bytes + 63) / 64 * 64;
}

size_t mafat_boxes_late_bytes(size_t most, int points, size_t beyond_bytes)
{
  size_t bytes = most * (MAFAT_DETECTION_BYTES + (size_t)points * MAFAT_POINT_BYTES) + beyond_bytes;
  return bytes > MAFAT_DETECTIONS_SHARE ? bytes - MAFAT_DETECTIONS_SHARE : 0;
}
