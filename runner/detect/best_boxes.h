/* List of the most confident boxes of all detection heads, up to a capacity; boxes that do not fit
 * are counted. Touches only its arguments. Included by detect.c and suppress.h. */
#ifndef MAFAT_RUNNER_DETECT_BEST_BOXES_H
#define MAFAT_RUNNER_DETECT_BEST_BOXES_H

#include "predictor/plan/boxes_room.h"
#include "runner/engine/decoding.h"

/* A box with one of its classes. */
struct mafat_scored_box {
  float confidence;
  int class;
  uint32_t number; /* number of the box in the order in which heads report boxes; breaks ties */
  uint32_t next;   /* next box in the same cell (runner/detect/suppress.h) */
  struct mafat_rectangle box;
};

_Static_assert(sizeof(struct mafat_scored_box) == MAFAT_SCORED_BOX_BYTES,
               "size in predictor/plan/boxes_room.h");

struct mafat_best_boxes {
  struct mafat_scored_box *list; /* owned by the caller, capacity `most` */
  size_t most, n;
  size_t n_left_out; /* number of boxes that did not fit */
};

/* A function that compares boxes: the result is below 0 if a comes before b, and never 0 for
 * different boxes. */
typedef int mafat_box_order(const struct mafat_scored_box *a, const struct mafat_scored_box *b);
/* Higher confidences come first, then lower classes, then lower numbers. */
mafat_box_order mafat_box_order_results;
/* Lower classes come first, then higher confidences, then lower numbers. */
mafat_box_order mafat_box_order_classes;

/* Adds a box. If the list is full, the box that mafat_box_order_results puts last is dropped. */
void mafat_best_boxes_add(struct mafat_best_boxes *b, const struct mafat_scored_box *box);
/* Sorts in place. No boxes may be added afterwards. */
void mafat_best_boxes_sort(struct mafat_best_boxes *b, mafat_box_order *order);

#endif
