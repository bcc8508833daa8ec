/* From the numbers of a network's heads to what a person asks for: boxes with a
 * class and a confidence, or the likeliest classes of a picture.
 *
 * The answers are those of Debian's Darknet (get_network_boxes, do_nms_sort,
 * top_k), computed in its order and precision; only the memory differs. Darknet
 * keeps classes x boxes floats; here only the best pairs above the threshold exist.
 * The numbers come through a callback, one at a time: the executor's in the
 * program, an array in the tests. Results belong to the caller, who closes
 * them. */
#ifndef MAFAT_RUNNER_DETECT_DETECT_H
#define MAFAT_RUNNER_DETECT_DETECT_H

#include <stddef.h>

#include "network/network.h"
#include "runner/image/placement.h"

/* What a layer's output tensor holds at the callback, after Darknet's forward:
 *   [region]     per anchor x, y (logistic), w, h (raw), objectness (logistic;
 *                raw with background), classes (logistic or softmax)
 *   [yolo]       per anchor x, y (logistic, then * scale_x_y - (scale_x_y - 1)
 *                / 2), w, h (raw), objectness, classes (logistic). new_coords:
 *                as the layer before put them out, x and y scaled likewise
 *   [Gaussian_yolo]  as [yolo], and behind each of x, y, w, h its sigma (logistic)
 *   [detection]  flat, in CHW order: class probabilities per cell, confidences
 *                per cell and box, boxes per cell and box
 *   [softmax]    flat, in CHW order */
struct mafat_detect_input {
  float (*at)(const void *context, int layer, int c, int y, int x);
  const void *context;
  /* Of networks whose outputs heads read (runner/detect/heads): numbers of an output, in the order of its dimensions. */
  void (*read)(const void *context, int output, long long first, int n, float *numbers);
  struct mafat_placement placement; /* of the picture, as seen, in the network's input */
  float thresh;             /* least confidence, exclusive; not negative */
  float nms;                /* greatest overlap (IoU) within a class; 0: no suppression, as in Darknet */
  int n_layers;             /* of the network, that were run; heads beyond are ignored */
  void *room;               /* mafat_boxes_room_bytes(most_boxes), aligned as malloc does: where boxes are collected */
  size_t most_boxes;        /* above the threshold that are looked at, the most confident; one counts for each class */
};

/* Darknet's thresholds; the rest is zero, without room for boxes, and the caller's to fill. */
void mafat_detect_defaults(struct mafat_detect_input *in);

/* All detection heads among the first n_layers, or the one that reads the outputs; a network without one gives an
 * empty list. Confidences that are not finite and boxes that are not numbers
 * are left out; boxes too large for a float are cut to 1e9 pixels. Where there are more
 * than most_boxes, the list is the beginning of what it would be with room for all of them.
 * MAFAT_EINVAL (thresholds, picture, n_layers), MAFAT_ENOMEM. *out is NULL
 * after a failure. Time grows little more than with what is found, but for
 * boxes that overlap and are kept nevertheless. */
int mafat_detect(struct mafat_detections **out, const struct mafat_network *n,
                 const struct mafat_detect_input *in, struct mafat_diagnostic *d);

/* Is there a detection head among the first n_layers, or one that reads the outputs? */
bool mafat_detect_has_head(const struct mafat_network *n, int n_layers);

/* The [softmax] that ends the first n_layers, renaming layers aside; -1 when the
 * network is no classifier, or its outputs are. */
int mafat_classify_layer(const struct mafat_network *n, int n_layers);
bool mafat_classify_is_able(const struct mafat_network *n, int n_layers);

/* The k likeliest classes, likeliest first, of equals the lower; fewer where the
 * output has fewer numbers. Uses at, context and n_layers of `in`.
 * MAFAT_EINVAL when the network is no classifier, MAFAT_ELIMIT when a class
 * would not fit an int. */
int mafat_classify(struct mafat_class_score *top, int k, int *n_top, const struct mafat_network *n,
                   const struct mafat_detect_input *in, struct mafat_diagnostic *d);

#endif
