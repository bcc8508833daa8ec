/* Non-maximum suppression as in Darknet (IoU) and AlexeyAB's fork (DIoU). Works in the caller's
 * memory. Included by detect.c. */
#ifndef MAFAT_RUNNER_DETECT_SUPPRESS_H
#define MAFAT_RUNNER_DETECT_SUPPRESS_H

#include "runner/detect/best_boxes.h"

struct mafat_suppression {
  float most; /* greatest overlap that two kept boxes may have: above 0, at most 1 */
  enum mafat_nms kind;
  double power;    /* DIoU: exponent of the relative squared distance */
  uint32_t *cells; /* capacity for mafat_boxes_levels(b->most) grids */
};

/* True if two boxes overlap by more than the maximum. */
bool mafat_suppression_overlaps(const struct mafat_suppression *s, struct mafat_rectangle a,
                                struct mafat_rectangle b);

/* Keeps, in each class, the boxes that do not overlap a more confident box that is kept. Sorts the
 * list by classes. Compares only nearby boxes, with the same result as comparing all. */
void mafat_suppress(struct mafat_best_boxes *b, const struct mafat_suppression *s);

#endif
