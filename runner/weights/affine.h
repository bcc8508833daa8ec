/* Per-filter values, y = sum * scale + bias, folded from what a file has of them: biases,
 * and batch normalization's scales, means and variances. */
#ifndef MAFAT_RUNNER_WEIGHTS_AFFINE_H
#define MAFAT_RUNNER_WEIGHTS_AFFINE_H

#include "network/network.h"
#include "predictor/schedule/fetches.h"

/* Where what keeps a deviation from being 0 is added. */
enum mafat_epsilon {
  MAFAT_EPSILON_BESIDE_ROOT, /* sqrt(variance) + 1e-6: pjreddie's Darknet */
  MAFAT_EPSILON_IN_ROOT      /* sqrt(variance + 1e-5): AlexeyAB's */
};

enum mafat_epsilon mafat_affine_epsilon(const struct mafat_network *n);

/* A filter's values as files have them. */
struct mafat_normalization {
  float bias, scale, mean, variance;
};

struct mafat_affine {
  float scale, bias;
};

struct mafat_affine mafat_affine_fold(const struct mafat_normalization *from, enum mafat_epsilon epsilon);

/* What a fetch of per-filter values brings of n filters: biases, their normalization (scales,
 * means, variances), or both; a normalization alone is folded into the biases that are there.
 * False: not all of them are finite. */
bool mafat_affine_take(enum mafat_fetch_kind kind, const float *values, size_t n, enum mafat_epsilon epsilon,
                       float *scale, float *bias);

/* Parts into their rows, as they lie in the file: scales in the first, biases in the second, zeros where there are none. */
void mafat_affine_spread_parts(const struct mafat_fetch *fetch, const struct mafat_layer_constants *c, const char *data,
                               size_t n, float *rows);

/* The same of a fetch of parts of the layer's constants. `rows` has room for each (fetches.h: affine_rows)
 * of n floats; with the last of them the scales are in the first of them and the biases in the second. */
bool mafat_affine_take_parts(const struct mafat_fetch *fetch, const struct mafat_layer_constants *c, const char *data,
                             size_t n, float *rows);

#endif
