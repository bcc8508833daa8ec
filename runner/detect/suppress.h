/* Non-maximum suppression as in Darknet (IoU) and AlexeyAB's fork (DIoU). Touches only its
 * arguments. Included by detect.c. */
#ifndef MAFAT_RUNNER_DETECT_SUPPRESS_H
#define MAFAT_RUNNER_DETECT_SUPPRESS_H

#include "runner/detect/best_boxes.h"

struct mafat_suppression {
  float most; /* greatest overlap that two kept boxes of a class may have: above 0, at most 1 */
  enum mafat_nms kind;
  double power;    /* DIoU: exponent of the squared distance relative to the squared size */
  uint32_t *cells; /* memory of mafat_boxes_cells(mafat_boxes_levels(b->most)) integers, where b is
                      the list that is suppressed (boxes_room.h) */
};

/* True if the overlap of two boxes is above s->most. */
bool mafat_suppression_overlaps(const struct mafat_suppression *s, struct mafat_rectangle a,
                                struct mafat_rectangle b);

/* Keeps, in each class, the boxes that do not overlap a kept box with higher confidence. Sorts the
 * list by mafat_box_order_classes. Compares only nearby boxes; the result is the same as if all
 * were compared. */
void mafat_suppress(struct mafat_best_boxes *b, const struct mafat_suppression *s);

#endif
