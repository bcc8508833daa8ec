/* Non-maximum suppression as in Darknet (IoU) and AlexeyAB's fork (DIoU). Works in place; allocates
 * nothing. Included by detect.c. */
#ifndef MAFAT_RUNNER_DETECT_SUPPRESS_H
#define MAFAT_RUNNER_DETECT_SUPPRESS_H

#include "runner/detect/best_boxes.h"

struct mafat_suppression {
  float most; /* maximum overlap of a pair; above 0 */
  enum mafat_nms kind;
  double power;    /* of the squared distance */
  uint32_t *cells; /* capacity for mafat_boxes_levels(b->most) grids */
};

/* True if two boxes overlap by more than the maximum. */
bool mafat_suppression_overlaps(const struct mafat_suppression *s, struct mafat_rectangle a,
                                struct mafat_rectangle b);

/* Keeps, per class, the boxes that overlap no more confident kept box. Only nearby boxes are
 * compared; the result is the same to the bit. */
void mafat_suppress(struct mafat_best_boxes *b, const struct mafat_suppression *s);

#endif
