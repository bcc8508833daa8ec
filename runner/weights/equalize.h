/* Equalizes the channels of a map before quantization. Depthwise convolutions produce maps whose
 * channels differ in magnitude, but a quantized map has one scale. So each filter of the layer that
 * computes the map is multiplied by a factor, and its readers' weights are divided by these. The
 * outputs of the float network stay the same except for rounding. Allocates. Included by
 * api/packing/calibrate.h and api/packing/measure.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_EQUALIZE_H
#define MAFAT_RUNNER_WEIGHTS_EQUALIZE_H

#include "formats/packed/activations.h"
#include "runner/weights/ranges.h"

struct mafat_equalized {
  int n_layers;
  float **factors; /* [layer]: per output channel; NULL: the layer cannot have factors */
  struct mafat_range **ranges;  /* [layer]: observed range per channel, before factors */
  bool *depthwise;              /* [layer]: only depthwise convolutions read its map */
};

/* Finds the maps that can be equalized, and sets their factors to 1. A map can be equalized if a
 * quantized convolution with no activation, a rectifier or a sloped rectifier computes it, and all
 * its readers are quantized convolutions that read the whole map. MAFAT_ENOMEM. */
int mafat_equalized_open(struct mafat_equalized *e, const struct mafat_network *n,
                         const struct mafat_activations *a);
void mafat_equalized_close(struct mafat_equalized *e);

/* Extends the observed ranges by a layer's output; ignored if the layer has no factors. */
void mafat_equalized_see(struct mafat_equalized *e, int layer, struct mafat_shape shape,
                         const float *chw);
/* Chooses factors (ratio of magnitudes)^share, share 0 to 1; with 0 all factors are 1. If only
 * depthwise convolutions read the map, any share above 0 counts as 1: their filters have scales of
 * their own, so nothing is lost. */
void mafat_equalized_choose(struct mafat_equalized *e, const struct mafat_network *n, float share);
/* Returns the observed range over all channels, with factors. */
struct mafat_range mafat_equalized_range(const struct mafat_equalized *e, int layer, int channels);

/* Multiply or divide each channel of a map by its factor. NULL: unchanged. */
void mafat_equalized_multiply(const float *factors, struct mafat_shape shape, float *chw);
void mafat_equalized_divide(const float *factors, struct mafat_shape shape, float *chw);

#endif
