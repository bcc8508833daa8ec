/* Interface of detection heads. A kind of head (runner/engine/kinds), or one that reads a file's
 * plain outputs (runner/detect/heads), walks over the values of its layer and passes on each box
 * with its class confidences. runner/detect/detect.c collects the best above the threshold.
 * Included by runner/detect and runner/engine/kinds. */
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
  float (*at)(const void *context, int layer, int c, int y, int x);
  const void *context;
  struct mafat_detection_search *search;
  /* For a head that reads outputs, instead of layer, index and at. `first`: in row-major order of
   * the output's dimensions. */
  const struct mafat_decoded *decoded;
  void (*read)(const void *context, int output, long long first, int n, float *numbers);
};

/* Value of the head's output. */
static inline float mafat_decoding_at(const struct mafat_decoding *d, int c, int y, int x)
{
  return d->at(d->context, d->index, c, y, x);
}

/* Starts a box; its classes follow. Its units are fractions of the network's input or, with
 * `of_picture`, of the letterboxed picture in it. False: not a box, contains NaN. */
bool mafat_decoding_box(struct mafat_decoding *d, struct mafat_rectangle box, bool of_picture);

/* The same for a head that reads outputs: its box `number`, in fractions of the network's input. */
bool mafat_decoding_numbered(struct mafat_decoding *d, uint32_t number, struct mafat_rectangle box);

/* Adds a class of that box; ignored if not above the threshold. */
void mafat_decoding_class(struct mafat_decoding *d, int class, float confidence);

/* Reads values [first, first + n) of the output in position `which` of the head. */
static inline void mafat_decoding_read(const struct mafat_decoding *d, int which, long long first,
                                       int n, float *numbers)
{
  d->read(d->context, d->decoded->outputs[which], first, n, numbers);
}

/* Inserts into a list of at most k, most confident first; equal scores keep their order. */
void mafat_class_scores_insert(struct mafat_class_score *top, int k, int *n_top,
                               struct mafat_class_score score);

#endif
