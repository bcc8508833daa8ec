/* Which boxes go because a better one of their class covers them: Darknet's NMS, and AlexeyAB's. */
#ifndef MAFAT_RUNNER_DETECT_SUPPRESS_H
#define MAFAT_RUNNER_DETECT_SUPPRESS_H

#include "runner/detect/best_boxes.h"

struct mafat_suppression {
  float most; /* overlap that a pair may have; above 0 */
  enum mafat_nms kind;
  double power;    /* of the distance's square */
  uint32_t *cells; /* room for those of mafat_boxes_levels(b->most) grids */
};

/* Do two boxes overlap by more? */
bool mafat_suppression_overlaps(const struct mafat_suppression *s, struct mafat_rectangle a, struct mafat_rectangle b);

/* Keeps of every class what overlaps no more confident box that is kept; class by class. Only
 * boxes that are near each other are compared: what is kept is the same to the bit. */
void mafat_suppress(struct mafat_best_boxes *b, const struct mafat_suppression *s);

#endif
