/* Decodes a network's head outputs into boxes with class and confidence, or into the most likely
 * classes of a picture.
 *
 * The results equal those of Debian's Darknet (get_network_boxes, do_nms_sort, top_k), computed in
 * its order and precision. They need less memory: Darknet keeps classes x boxes floats, this keeps
 * the best pairs above the threshold. Values are read through callbacks. Results are allocated; the
 * caller frees them by mafat_detections_close. Included by api/model.h and
 * runner/detect/heads/heads.c. */
#ifndef MAFAT_RUNNER_DETECT_DETECT_H
#define MAFAT_RUNNER_DETECT_DETECT_H

#include <stddef.h>

#include "network/network.h"
#include "runner/image/placement.h"

/* Input of decoding. `at` returns elements of a layer's output, as after Darknet's forward pass:
 *   [region]     per anchor x, y (logistic), w, h (raw), objectness (logistic;
 *                raw with background), classes (logistic or softmax)
 *   [yolo]       per anchor x, y (logistic, then * scale_x_y - (scale_x_y - 1)
 *                / 2), w, h (raw), objectness, classes (logistic). new_coords:
 *                outputs of the layer before, with x and y scaled likewise
 *   [Gaussian_yolo]  like [yolo], with a sigma (logistic) after each of x, y, w, h
 *   [detection]  flat, in CHW order: class probabilities per cell, confidences
 *                per cell and box, boxes per cell and box
 *   [softmax]    flat, in CHW order */
struct mafat_detect_input {
  float (*at)(const void *context, int layer, int c, int y, int x);
  const void *context;
  /* Reads n elements of an output in the order of its dimensions, for heads that decode outputs
   * (runner/detect/heads). */
  void (*read)(const void *context, int output, long long first, int n, float *numbers);
  struct mafat_placement placement; /* of the upright picture in the network's input */
  float thresh;             /* minimum confidence, exclusive; not negative */
  float nms; /* maximum overlap of boxes of a class, 0 to 1; 0: no suppression, as in Darknet */
  int n_layers;             /* layers that were run; later heads are ignored */
  /* memory for collecting boxes: mafat_boxes_room_bytes(most_boxes), aligned as by malloc */
  void *capacity;
  /* capacity for boxes above the threshold, the most confident first; a box counts once per
   * class */
  size_t most_boxes;
};

/* Sets Darknet's thresholds, and zeros elsewhere. The caller sets the rest, including memory for
 * boxes. */
void mafat_detect_defaults(struct mafat_detect_input *in);

/* Decodes all detection layers among the first n_layers, and the outputs if they have a head. A
 * network without heads gives an empty list. Infinite confidences and boxes with NaN are left out;
 * coordinates are clamped to 1e9 pixels. Considers only the most_boxes most confident boxes above
 * the threshold. MAFAT_EINVAL (thresholds, picture, n_layers), MAFAT_ENOMEM; *out is then NULL.
 * Time grows little faster than the number of boxes, except for boxes that overlap but are kept. */
int mafat_detect(struct mafat_detections **out, const struct mafat_network *n,
                 const struct mafat_detect_input *in, struct mafat_diagnostic *d);

/* True if the first n_layers contain a detection head, or if one decodes the outputs. */
bool mafat_detect_has_head(const struct mafat_network *n, int n_layers);

/* Returns the [softmax] layer that is the last of the first n_layers, ignoring layers without
 * effect. -1: it is another layer, or decoding is off. */
int mafat_classify_layer(const struct mafat_network *n, int n_layers);
/* True if there is such a layer, or the head of the outputs returns classes. */
bool mafat_classify_is_able(const struct mafat_network *n, int n_layers);

/* Returns the number of classes of boxes or pictures; 0: none, or unknown. */
int mafat_detect_classes(const struct mafat_network *n, int n_layers);

/* Returns the k most likely classes in descending order, or fewer if there are fewer; among equals,
 * the lower class is first. Uses at, read, context and n_layers of `in`. MAFAT_EINVAL: not a
 * classifier. MAFAT_ELIMIT: a class would not fit an int. */
int mafat_classify(struct mafat_class_score *top, int k, int *n_top, const struct mafat_network *n,
                   const struct mafat_detect_input *in, struct mafat_diagnostic *d);

#endif
