/* Chooses which layers of a float network will compute with integers, and their scales, from the
 * layers' outputs for some pictures. */
#ifndef MAFAT_API_PACKING_CALIBRATE_H
#define MAFAT_API_PACKING_CALIBRATE_H

#include "formats/packed/activations.h"
#include "base/model_source.h"
#include "runner/weights/equalize.h"

/* Histograms of each operator's output, and of sums before functions that become tables. */
struct mafat_calibrated {
  int n_operators;
  struct mafat_histogram *put, *before; /* [operator] */
};

/* Chooses the layers that compute with integers. These are convolutions that can, except those that
 * read an input, those that feed no other convolution, and those in keep[n_layers]; and layers
 * between them whose operands are all quantized. Scales are not set. NULL: out of memory. */
struct mafat_activations *mafat_calibrate_choose(const struct mafat_network *n, const bool *keep);
int mafat_calibrate_count(const struct mafat_activations *a);

/* Runs `twin` on the pictures twice. twin is `wide` with functions separated
 * (mafat_activations_apply without types, by `a`). The first pass sets the factors of the maps of
 * `equalized`, with this share (equalize.h); the second collects histograms with them. */
int mafat_calibrate_see(struct mafat_calibrated *out, const struct mafat_network *twin,
                        const struct mafat_activations *a,
                        const struct mafat_activations_places *places,
                        struct mafat_equalized *equalized, float share,
                        const struct mafat_network *wide, struct mafat_model_source *weights,
                        const char *const *pictures, int n_pictures, struct mafat_diagnostic *d);
void mafat_calibrated_release(struct mafat_calibrated *c);

/* Sets scales and zero points of all listed layers. MAFAT_ENOMEM. */
int mafat_calibrate_scale(struct mafat_activations *a, const struct mafat_network *n,
                          const struct mafat_calibrated *c, enum mafat_range_method method);

#endif
