/* Computes each filter's scale and bias (y = sum * scale + bias) from the constants of a file:
 * biases, and batch normalization's scales, means and variances. Touches only its arguments.
 * Included by packer.c and weights.c in runner/weights. */
#ifndef MAFAT_RUNNER_WEIGHTS_AFFINE_H
#define MAFAT_RUNNER_WEIGHTS_AFFINE_H

#include "network/network.h"
#include "predictor/schedule/fetches.h"

/* How the standard deviation is computed from the variance and a constant that keeps it above 0. */
enum mafat_epsilon {
  MAFAT_EPSILON_BESIDE_ROOT, /* sqrt(variance) + 1e-6: pjreddie's Darknet */
  MAFAT_EPSILON_IN_ROOT      /* sqrt(variance + 1e-5): AlexeyAB's fork */
};

enum mafat_epsilon mafat_affine_epsilon(const struct mafat_network *n);

/* A filter's constants in a file. */
struct mafat_normalization {
  float bias, scale, mean, variance;
};

struct mafat_affine {
  float scale, bias;
};

struct mafat_affine mafat_affine_fold(const struct mafat_normalization *from,
                                      enum mafat_epsilon epsilon);

/* Sets scale and bias of n filters from the values of a fetch (one read of weights): biases, a
 * normalization (scales, means, variances), or first biases and then a normalization, n floats
 * each. A normalization alone is folded into the biases that an earlier call has stored. False:
 * some results are not finite. */
bool mafat_affine_take(enum mafat_fetch_kind kind, const float *values, size_t n,
                       enum mafat_epsilon epsilon, float *scale, float *bias);

/* Copies each part (enum mafat_constant_part) of a fetch into a row of n floats: scales into the
 * first row, biases into the second (zeros if the layer has none), others into the following rows.
 * A part with a single value is repeated for all filters. `data` holds the fetched bytes; `rows`
 * has mafat_fetches_affine_rows rows. */
void mafat_affine_spread_parts(const struct mafat_fetch *fetch,
                               const struct mafat_layer_constants *c, const char *data, size_t n,
                               float *rows);

/* Calls mafat_affine_spread_parts. After the layer's last fetch of parts, also folds all parts into
 * a scale and a bias for each filter, in the first and second row. False: some of these are not
 * finite. */
bool mafat_affine_take_parts(const struct mafat_fetch *fetch, const struct mafat_layer_constants *c,
                             const char *data, size_t n, float *rows);

#endif
