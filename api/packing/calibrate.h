/* Which layers of a network of floats shall compute with whole numbers, and what these mean, by what the layers put out for
 * some pictures. */
#ifndef MAFAT_API_PACKING_CALIBRATE_H
#define MAFAT_API_PACKING_CALIBRATE_H

#include "formats/packed/activations.h"
#include "base/model_source.h"
#include "runner/weights/equalize.h"

/* What was seen of each operator's output, and of sums before functions that become tables. */
struct mafat_calibrated {
  int n_operators;
  struct mafat_histogram *put, *before; /* [operator] */
};

/* Which layers compute: convolutions that can, but those that read an input, those that no other convolution's input is made
 * of, and those that are kept; and what lies between them, where all that it reads comes from such. Scales are still to
 * be chosen. keep: [n_layers]. NULL: out of memory. */
struct mafat_activations *mafat_calibrate_choose(const struct mafat_network *n, const bool *keep);
int mafat_calibrate_count(const struct mafat_activations *a);

/* Runs `twin`, which is `wide` with functions apart (mafat_activations_apply without types, by `a`), on the pictures, twice. By the
 * first turn the maps of `equalized`, of `wide`, get the factors of such a share (equalize.h); what was seen is what they hold with them. */
int mafat_calibrate_see(struct mafat_calibrated *out, const struct mafat_network *twin, const struct mafat_activations *a,
                        const struct mafat_activations_places *places, struct mafat_equalized *equalized, float share,
                        const struct mafat_network *wide, struct mafat_model_source *weights, const char *const *pictures, int n_pictures,
                        struct mafat_diagnostic *d);
void mafat_calibrated_release(struct mafat_calibrated *c);

/* Scales and zero points of all that is listed. MAFAT_ENOMEM. */
int mafat_calibrate_scale(struct mafat_activations *a, const struct mafat_network *n, const struct mafat_calibrated *c,
                          enum mafat_range_method method);

#endif
