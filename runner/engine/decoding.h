/* How heads tell of their boxes: a kind of head (runner/engine/kinds), or one that reads the outputs of a file that
 * has no layers for it (runner/detect/heads), walks over the numbers that its
 * layer put out, and hands on each box with the confidences of its classes; the best of
 * what is above the threshold is collected by detect.c, which makes detections of it. */
#ifndef MAFAT_RUNNER_ENGINE_DECODING_H
#define MAFAT_RUNNER_ENGINE_DECODING_H

#include "network/network.h"

/* Centre and size: shares of the picture, or of the network's input. */
struct mafat_rectangle {
  float x, y, w, h;
};

struct mafat_search; /* what has been found so far */

/* A head while it is read. */
struct mafat_decoding {
  const struct mafat_layer *layer;
  int index;      /* the layer's */
  int in_w, in_h; /* the network's input, pixels */
  float thresh;   /* of confidences, exclusive */
  float (*at)(const void *context, int layer, int c, int y, int x);
  const void *context;
  struct mafat_search *search;
  /* Of a head that reads outputs, in place of layer, index and at; `first`: in the row-major order of its
   * dimensions. */
  const struct mafat_decoded *decoded;
  void (*read)(const void *context, int output, long long first, int n, float *numbers);
};

/* A number that the head put out. */
static inline float mafat_decoding_at(const struct mafat_decoding *d, int c, int y, int x)
{
  return d->at(d->context, d->index, c, y, x);
}

/* The box whose classes come next, in shares of the network's input or, with `of_picture`, of the
 * picture in it where that is letterboxed as the cfg has it. False: it is none, there is a NaN in it. */
bool mafat_decoding_box(struct mafat_decoding *d, struct mafat_rectangle box, bool of_picture);

/* The same of a head that reads outputs: box `number` of its own, in shares of the network's input. */
bool mafat_decoding_numbered(struct mafat_decoding *d, uint32_t number, struct mafat_rectangle box);

/* A class of that box; nothing happens to what is not above the threshold. */
void mafat_decoding_class(struct mafat_decoding *d, int class, float confidence);

/* Numbers [first, first + n) of the output that stands at `which` in the head's order. */
static inline void mafat_decoding_read(const struct mafat_decoding *d, int which, long long first, int n,
                                       float *numbers)
{
  d->read(d->context, d->decoded->outputs[which], first, n, numbers);
}

/* Inserts into a list of at most k, most confident first; an equal goes behind. */
void mafat_class_scores_insert(struct mafat_class_score *top, int k, int *n_top, struct mafat_class_score score);

#endif
