/* Exact results of kernels in double precision: the value, and the sum of the magnitudes of its
 * terms, to which rounding errors are proportional. Included by kernel_check and unit tests. */
#ifndef MAFAT_TESTS_KERNELS_KERNEL_EXACT_H
#define MAFAT_TESTS_KERNELS_KERNEL_EXACT_H

#include "runner/kernels/kernels.h"

/* In enum mafat_activation, the activations before this one have slopes of at most 1.8. */
enum { MAFAT_EXACT_GENTLE = MAFAT_THRESHOLDED };

struct mafat_exact {
  double value, magnitude;
};

/* Computes an activation by the formula of Darknet, of AlexeyAB's fork or of layer.h. */
double mafat_exact_activation(double x, const struct mafat_activating *a);
/* Returns an activation of this kind with plausible parameters, which it makes from two random
 * numbers in -1..1. */
struct mafat_activating mafat_exact_activating(enum mafat_activation kind, float p, float q);
/* activation(x * scale + bias) */
struct mafat_exact mafat_exact_finish(struct mafat_exact x, double scale, double bias,
                                      const struct mafat_activating *a);
/* Returns one sum of a convolution, with scale, bias and activation if the call has `finish`.
 * `before`: the output's value before the call, if the call continues a sum. Ignores `pool`. */
struct mafat_exact mafat_exact_conv(const struct mafat_conv_call *c, int filter, int row, int col,
                                    double before);
struct mafat_exact mafat_exact_depthwise(const struct mafat_depthwise_call *c, int channel, int row,
                                         int col);

/* Winograd's G g G', B' d B and A' m A. Matrices are stored row by row. */
void mafat_exact_winograd_weights(enum mafat_winograd_size size, const double *g,
                                  struct mafat_exact *out);
void mafat_exact_winograd_input(enum mafat_winograd_size size, const double *d,
                                struct mafat_exact *out);
void mafat_exact_winograd_output(enum mafat_winograd_size size, const double *m,
                                 struct mafat_exact *out);

#endif
