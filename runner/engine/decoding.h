/* Functions by which detection heads report boxes. A head is code that decodes boxes: of a layer of
 * kind region, yolo and so on (runner/engine/kinds), or of several outputs of a network that has no
 * such layer (runner/detect/heads). It reports each box and the confidences of its classes;
 * runner/detect/detect.c implements the functions and collects the best boxes above the threshold.
 * Included by runner/detect and runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_DECODING_H
#define MAFAT_RUNNER_ENGINE_DECODING_H

#include "network/network.h"

/* Center and size, as fractions of the picture or of the network's input. */
struct mafat_rectangle {
  float x, y, w, h;
};

struct mafat_detection_search; /* boxes found so far */

/* State of decoding one head. */
struct mafat_decoding {
  const struct mafat_layer *layer;
  int index;      /* number of `layer` in the network */
  int in_w, in_h; /* width and height of the network's input in pixels */
  float thresh;   /* least confidence, exclusive */
  float (*at)(const void *context, int layer, int c, int y, int x); /* value of a layer's output */
  const void *context; /* passed to `at` and `read` */
  struct mafat_detection_search *search;
  /* A head in runner/detect/heads uses these two instead of layer, index and at. `read` copies
   * values [first, first + n) of an output of the network, in row-major order of its dimensions. */
  const struct mafat_decoded *decoded;
  void (*read)(const void *context, int output, long long first, int n, float *numbers);
};

/* Returns a value of the output of d->layer. */
static inline float mafat_decoding_at(const struct mafat_decoding *d, int c, int y, int x)
{
  return d->at(d->context, d->index, c, y, x);
}

/* Starts a box; if it returns true, calls of mafat_decoding_class follow. The box is in fractions
 * of the network's input or, if `of_picture` and the picture is letterboxed, of the picture.
 * Returns false if the box contains NaN: it is ignored. */
bool mafat_decoding_box(struct mafat_decoding *d, struct mafat_rectangle box, bool of_picture);

/* Starts a box as mafat_decoding_box does, in fractions of the network's input, and gives it this
 * number. Called by heads in runner/detect/heads. */
bool mafat_decoding_numbered(struct mafat_decoding *d, uint32_t number, struct mafat_rectangle box);

/* Adds a class to the box that was started last. Does nothing if the confidence is not above the
 * threshold or is infinite. */
void mafat_decoding_class(struct mafat_decoding *d, int class, float confidence);

/* Reads values [first, first + n) of output d->decoded->outputs[which]. */
static inline void mafat_decoding_read(const struct mafat_decoding *d, int which, long long first,
                                       int n, float *numbers)
{
  d->read(d->context, d->decoded->outputs[which], first, n, numbers);
}

/* Inserts a score into `top`, a list of *n_top <= k scores, most confident first. Equal scores keep
 * their order. */
void mafat_class_scores_insert(struct mafat_class_score *top, int k, int *n_top,
                               struct mafat_class_score score);

#endif
