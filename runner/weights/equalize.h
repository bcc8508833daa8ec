/* Equalizes the channels of a map before quantization. Depthwise convolutions produce maps whose
 * channels differ in magnitude, but a quantized map has one scale. So each filter of the layer that
 * computes the map is multiplied by a factor, and the weights of the layers that read the map are
 * divided by these factors. The outputs of the float network stay the same except for rounding.
 * Opening allocates, closing frees; nothing else is touched beyond the arguments. Included by
 * api/packing/calibrate.h and api/packing/measure.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_EQUALIZE_H
#define MAFAT_RUNNER_WEIGHTS_EQUALIZE_H

#include "formats/packed/activations.h"
#include "runner/weights/ranges.h"

struct mafat_equalized {
  int n_layers;
  float **factors; /* [layer]: factor of each output channel; NULL: the layer cannot have factors */
  struct mafat_range **ranges;  /* [layer]: observed range of each channel, without factors */
  bool *depthwise;              /* [layer]: only depthwise convolutions read its map */
};

/* Finds the maps that can be equalized, and sets their factors to 1. A map can be equalized if a
 * quantized convolution with no activation, a rectifier or a sloped rectifier computes it, and all
 * layers that read it are quantized convolutions that read the whole map. MAFAT_OK or
 * MAFAT_ENOMEM; close *e in both cases. */
int mafat_equalized_open(struct mafat_equalized *e, const struct mafat_network *n,
                         const struct mafat_activations *a);
void mafat_equalized_close(struct mafat_equalized *e);

/* Extends the observed ranges by a layer's output. Does nothing if the layer cannot have
 * factors. */
void mafat_equalized_see(struct mafat_equalized *e, int layer, struct mafat_shape shape,
                         const float *chw);
/* Chooses each channel's factor: (magnitude of the map / magnitude of the channel)^share. share is
 * from 0, which makes all factors 1, to 1. If only depthwise convolutions read the map, a share
 * above 0 counts as 1: each of their filters has its own scale, so their weights lose no
 * precision. */
void mafat_equalized_choose(struct mafat_equalized *e, const struct mafat_network *n, float share);
/* Returns the range of all channels: the observed ranges, multiplied by the factors. */
struct mafat_range mafat_equalized_range(const struct mafat_equalized *e, int layer, int channels);

/* These multiply or divide each channel of a map by its factor. factors is NULL: no change. */
void mafat_equalized_multiply(const float *factors, struct mafat_shape shape, float *chw);
void mafat_equalized_divide(const float *factors, struct mafat_shape shape, float *chw);

#endif
