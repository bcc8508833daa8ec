/* Interface of detection heads. A head is a layer of the network (runner/engine/kinds), or reads
 * outputs of a network without such layers (runner/detect/heads). It passes on each box with its
 * class confidences; runner/detect/detect.c collects the best above the threshold. Included by
 * runner/detect and runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_DECODING_H
#define MAFAT_RUNNER_ENGINE_DECODING_H

#include "network/network.h"

/* Center and size, as fractions of the picture or of the network's input. */
struct mafat_rectangle {
  float x, y, w, h;
};

struct mafat_detection_search; /* boxes found so far */

/* A head while its boxes are read. */
struct mafat_decoding {
  const struct mafat_layer *layer;
  int index;      /* the layer's number */
  int in_w, in_h; /* network's input in pixels */
  float thresh;   /* confidences must be above this */
  float (*at)(const void *context, int layer, int c, int y, int x); /* value of a layer's output */
  const void *context; /* passed to `at` and `read` */
  struct mafat_detection_search *search;
  /* A head that reads outputs has these two instead of layer, index and at. `read` copies values
   * [first, first + n) of an output, in row-major order of its dimensions. */
  const struct mafat_decoded *decoded;
  void (*read)(const void *context, int output, long long first, int n, float *numbers);
};

/* Value of the head layer's output. */
static inline float mafat_decoding_at(const struct mafat_decoding *d, int c, int y, int x)
{
  return d->at(d->context, d->index, c, y, x);
}

/* Starts a box; calls of mafat_decoding_class follow. The box is in fractions of the network's
 * input or, with `of_picture`, of the letterboxed picture in it. False: it contains NaN and is
 * ignored. */
bool mafat_decoding_box(struct mafat_decoding *d, struct mafat_rectangle box, bool of_picture);

/* The same for box `number` of a head that reads outputs, in fractions of the network's input. */
bool mafat_decoding_numbered(struct mafat_decoding *d, uint32_t number, struct mafat_rectangle box);

/* Adds a class to the box started last; ignored if not above the threshold. */
void mafat_decoding_class(struct mafat_decoding *d, int class, float confidence);

/* Reads values [first, first + n) of the output in position `which` of the head. */
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
