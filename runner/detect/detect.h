/* Decodes a network's outputs into boxes with class and confidence, or into the most likely classes
 * of a picture.
 *
 * The results equal those of Debian's Darknet (get_network_boxes, do_nms_sort, top_k), which are
 * computed in the same order and precision, but need less memory: Darknet keeps classes x boxes
 * floats, and this keeps the best pairs of box and class above the threshold. Reads outputs through
 * callbacks. Allocates results, which the caller frees by mafat_detections_close. Included by
 * api/model.h and runner/detect/heads/heads.c. */
#ifndef MAFAT_RUNNER_DETECT_DETECT_H
#define MAFAT_RUNNER_DETECT_DETECT_H

#include <stddef.h>

#include "network/network.h"
#include "runner/image/placement.h"

/* Input of decoding. `at` returns elements of a layer's output, as after Darknet's forward pass.
 * "logistic" values are activated, "raw" values are not:
 *   [region]     for each anchor: x, y (logistic), w, h (raw), objectness (logistic; if the cfg has
 *                background: raw, or an element of the softmax), classes (logistic or softmax)
 *   [yolo]       for each anchor: x, y (logistic, then * scale_x_y - (scale_x_y - 1)
 *                / 2), w, h (raw), objectness, classes (logistic). With new_coords:
 *                the values of the layer before, but x and y are scaled as above
 *   [Gaussian_yolo]  as [yolo], with a sigma (logistic) after each of x, y, w, h
 *   [detection]  flat, in CHW order: class probabilities of each cell, confidences
 *                of each cell and box, boxes of each cell and box
 *   [softmax]    flat, in CHW order */
struct mafat_detect_input {
  float (*at)(const void *context, int layer, int c, int y, int x);
  const void *context; /* passed to `at` and `read` */
  /* Reads elements [first, first + n) of an output, in row-major order of its dimensions. Used by
   * heads in runner/detect/heads. */
  void (*read)(const void *context, int output, long long first, int n, float *numbers);
  struct mafat_placement placement; /* where the upright picture is in the network's input */
  float thresh;             /* least confidence, exclusive; not negative */
  float nms; /* greatest overlap (IoU) of two boxes of a class, 0 to 1; 0: boxes are not suppressed,
                as in Darknet */
  int n_layers;             /* number of layers that were run; heads after them are ignored */
  /* memory for boxes: mafat_boxes_room_bytes(most_boxes) bytes, aligned as by malloc */
  void *capacity;
  /* most boxes above the threshold that are kept, the most confident ones; a box counts once for
   * each of its classes above the threshold */
  size_t most_boxes;
};

/* Sets the thresholds to Darknet's, and all other fields to 0. The caller must then set the other
 * fields, including the memory for boxes. */
void mafat_detect_defaults(struct mafat_detect_input *in);

/* Decodes all detection layers among the first n_layers, and the network's outputs if
 * mafat_heads_choose has chosen a head for them. A network without heads gives an empty list. Boxes
 * with NaN, and infinite confidences, are left out; coordinates are clamped to 1e9 pixels.
 * Considers only the most_boxes most confident boxes above the threshold. MAFAT_EINVAL: wrong
 * thresholds, picture or n_layers; MAFAT_ENOMEM; *out is then NULL. The time grows little faster
 * than the number of boxes, unless many boxes overlap and are kept. */
int mafat_detect(struct mafat_detections **out, const struct mafat_network *n,
                 const struct mafat_detect_input *in, struct mafat_diagnostic *d);

/* True if the first n_layers layers contain a detection head, or a head that reports boxes decodes
 * the network's outputs. */
bool mafat_detect_has_head(const struct mafat_network *n, int n_layers);

/* Returns the number of the last of the first n_layers layers, not counting layers without effect,
 * if it is a [softmax]. -1: it is another layer, or decoding is off. */
int mafat_classify_layer(const struct mafat_network *n, int n_layers);
/* True if there is such a [softmax], or the head that decodes the outputs returns classes. */
bool mafat_classify_is_able(const struct mafat_network *n, int n_layers);

/* Returns the number of classes of boxes or pictures; 0: none, or unknown. */
int mafat_detect_classes(const struct mafat_network *n, int n_layers);

/* Sets `top` to the k most likely classes, or fewer if there are fewer, and *n_top to their number.
 * The most likely class is first; among equals, the lower class. Uses only at, read, context and
 * n_layers of `in`. MAFAT_EINVAL: the network is no classifier. MAFAT_ELIMIT: a class would not fit
 * in an int. */
int mafat_classify(struct mafat_class_score *top, int k, int *n_top, const struct mafat_network *n,
                   const struct mafat_detect_input *in, struct mafat_diagnostic *d);

#endif
