/* Maps whose channels differ in size, as depthwise convolutions leave them, have one scale together as whole numbers. So filters of
 * the layer that makes such a map are multiplied, each by a factor, and its readers' weights divided: the same network of floats
 * but for rounding, of channels that are more alike. */
#ifndef MAFAT_RUNNER_WEIGHTS_EQUALIZE_H
#define MAFAT_RUNNER_WEIGHTS_EQUALIZE_H

#include "formats/packed/activations.h"
#include "runner/weights/ranges.h"

struct mafat_equalized {
  int n_layers;
  float **factors;              /* [layer]: of each channel that it puts out; NULL: of none, it cannot have any */
  struct mafat_range **ranges;  /* beside them: what was seen of each channel, before factors */
  bool *depthwise;              /* only depthwise convolutions read it */
};

/* Factors of 1 for all maps that can have others: convolutions that compute with whole numbers make them, by a function that lets
 * factors through (none, a rectifier, a sloped one), and nothing but such convolutions reads them, whole. MAFAT_ENOMEM. */
int mafat_equalized_open(struct mafat_equalized *e, const struct mafat_network *n, const struct mafat_activations *a);
void mafat_equalized_close(struct mafat_equalized *e);

/* What the layer put out; nothing where it can have no factors. */
void mafat_equalized_see(struct mafat_equalized *e, int layer, struct mafat_shape shape, const float *chw);
/* So much of how far channels reach, 0 to 1, goes away: ratio^share. All of it where only depthwise convolutions read the map,
 * of which each filter has a scale of its own, and loses nothing. 0: all factors are 1. */
void mafat_equalized_choose(struct mafat_equalized *e, const struct mafat_network *n, float share);
/* What was seen, with the factors, of all channels together. */
struct mafat_range mafat_equalized_range(const struct mafat_equalized *e, int layer, int channels);

/* A map with its factors, and without them. NULL: as it is. */
void mafat_equalized_multiply(const float *factors, struct mafat_shape shape, float *chw);
void mafat_equalized_divide(const float *factors, struct mafat_shape shape, float *chw);

#endif
