/* Exact results of the kernels in double precision: the value, and the sum of the magnitudes of
 * its terms, to which rounding errors are proportional. */
#ifndef MAFAT_TESTS_KERNELS_KERNEL_EXACT_H
#define MAFAT_TESTS_KERNELS_KERNEL_EXACT_H

#include "runner/kernels/kernels.h"

/* Activations before this one are no steeper than 1.8, anywhere. */
enum { MAFAT_EXACT_GENTLE = MAFAT_THRESHOLDED };

struct mafat_exact {
  double value, magnitude;
};

/* The formulas of Darknet (and of AlexeyAB's fork), and those that layer.h says. */
double mafat_exact_activation(double x, const struct mafat_activating *a);
/* An activation with parameters as files have them, made of random numbers from -1 to 1. */
struct mafat_activating mafat_exact_activating(enum mafat_activation kind, float p, float q);
/* activation(x * scale + bias) */
struct mafat_exact mafat_exact_finish(struct mafat_exact x, double scale, double bias,
                                      const struct mafat_activating *a);
/* One sum of a convolution, finished if the call says so; `before` is what the
 * output holds if the call continues a sum. Never pooled. */
struct mafat_exact mafat_exact_conv(const struct mafat_conv_call *c, int filter, int row, int col,
                                    double before);
struct mafat_exact mafat_exact_depthwise(const struct mafat_depthwise_call *c, int channel, int row,
                                         int col);

/* Winograd's G g G', B' d B, A' m A: rows one after the other, as many as the size has. */
void mafat_exact_winograd_weights(enum mafat_winograd_size size, const double *g,
                                  struct mafat_exact *out);
void mafat_exact_winograd_input(enum mafat_winograd_size size, const double *d,
                                struct mafat_exact *out);
void mafat_exact_winograd_output(enum mafat_winograd_size size, const double *m,
                                 struct mafat_exact *out);

#endif
