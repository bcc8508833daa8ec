/* How heads tell of their boxes: a kind of head (runner/kinds) walks over the numbers that its
 * layer put out, and hands on each box with the confidences of its classes; the best of
 * what is above the threshold is collected by detect.c, which makes detections of it. */
#ifndef MAFAT_RUNNER_DECODING_H
#define MAFAT_RUNNER_DECODING_H

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
};

/* A number that the head put out. */
static inline float mafat_decoding_at(const struct mafat_decoding *d, int c, int y, int x)
{
  return d->at(d->context, d->index, c, y, x);
}

/* The box whose classes come next, in shares of the network's input or, with `of_picture`, of the
 * picture in it where that is letterboxed as the cfg has it. False: it is none, there is a NaN in it. */
bool mafat_decoding_box(struct mafat_decoding *d, struct mafat_rectangle box, bool of_picture);

/* A class of that box; nothing happens to what is not above the threshold. */
void mafat_decoding_class(struct mafat_decoding *d, int class, float confidence);

#endif
