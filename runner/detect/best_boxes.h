/* The most confident of the boxes that heads tell of, as many as there is room for: a heap. What
 * does not belong to them is counted, and otherwise as if it had not been there. */
#ifndef MAFAT_RUNNER_DETECT_BEST_BOXES_H
#define MAFAT_RUNNER_DETECT_BEST_BOXES_H

#include "predictor/plan/boxes_room.h"
#include "runner/engine/decoding.h"

/* A box with one of its classes. */
struct mafat_scored_box {
  float confidence;
  int class;
  uint32_t number; /* boxes are numbered in the order in which heads tell of them: it decides between equals */
  uint32_t next;   /* of those in a cell (suppress.h) */
  struct mafat_rectangle box;
};

_Static_assert(sizeof(struct mafat_scored_box) == MAFAT_SCORED_BOX_BYTES, "what is predicted");

struct mafat_best_boxes {
  struct mafat_scored_box *list; /* the caller's, room for `most` */
  size_t most, n;
  size_t n_left_out;
};

/* Orders without equals, but for a box beside itself: below 0 where a comes before b. */
typedef int mafat_box_order(const struct mafat_scored_box *a, const struct mafat_scored_box *b);
mafat_box_order mafat_box_order_results; /* the most confident, the lower class, the first told of */
mafat_box_order mafat_box_order_classes; /* class by class, of each as results */

/* The best are those that come first among results. */
void mafat_best_boxes_add(struct mafat_best_boxes *b, const struct mafat_scored_box *box);
/* In place. Once they are sorted, no more are added. */
void mafat_best_boxes_sort(struct mafat_best_boxes *b, mafat_box_order *order);

#endif
