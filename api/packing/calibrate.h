/* Chooses which layers of a float network will compute with integers, and their scales, from the
 * layers' outputs for some pictures. Included by api/packing/numbering.c. Runs the network on these
 * pictures through observe.c; allocates its results, which the caller closes or releases. */
#ifndef MAFAT_API_PACKING_CALIBRATE_H
#define MAFAT_API_PACKING_CALIBRATE_H

#include "formats/packed/activations.h"
#include "base/model_source.h"
#include "runner/weights/equalize.h"

/* Histograms of the operators' outputs (put), and of the sums before an activation that is computed
 * by table (before). */
struct mafat_calibrated {
  int n_operators;
  struct mafat_histogram *put, *before; /* [operator] */
};

/* Chooses the layers that will compute with integers. Layers with keep[layer] stay float, and so
 * do layers that read an input of the network or whose outputs reach no convolution. All other
 * convolutions that have an integer form are chosen, and layers between them if all their operands
 * are quantized. Does not set scales. The caller closes the result; NULL: out of memory. */
struct mafat_activations *mafat_calibrate_choose(const struct mafat_network *n, const bool *keep);
/* Returns the number of layers that compute with integers. */
int mafat_calibrate_count(const struct mafat_activations *a);

/* Runs `twin` on the pictures twice. `twin` is a copy of `wide` in which activations computed by
 * table are separate layers (mafat_activations_apply of `a`, without types). The first pass
 * observes ranges, and then sets the factors of `equalized` with exponent `share` (equalize.h). The
 * second pass applies the factors and collects histograms. Opens pictures and weights; allocates
 * *out. */
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
