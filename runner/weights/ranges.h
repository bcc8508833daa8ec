/* Chooses the range of reals that the 256 values of a byte represent, from observed values of a
 * tensor. Touches nothing but its arguments. Included by equalize.h. */
#ifndef MAFAT_RUNNER_WEIGHTS_RANGES_H
#define MAFAT_RUNNER_WEIGHTS_RANGES_H

#include <stddef.h>

enum { MAFAT_HISTOGRAM_BINS = 4096 };

/* Range of reals; always includes 0. */
struct mafat_range {
  double least, most;
};

/* Observed values, in two passes: first the range, then the distribution. Zeros are not counted:
 * every range represents them exactly. */
struct mafat_histogram {
  struct mafat_range seen;
  double bins[MAFAT_HISTOGRAM_BINS]; /* of equal width */
  double n; /* values in all bins */
};

/* Extends the range to include n values. */
void mafat_range_see(struct mafat_range *seen, const float *x, size_t n);
/* Adds values to the bins; all must be in the range. */
void mafat_histogram_add(struct mafat_histogram *h, const float *x, size_t n);

enum mafat_range_method {
  MAFAT_RANGE_SQUARES,    /* least sum of squared errors: rounding inside, clamping outside */
  MAFAT_RANGE_PERCENTILE, /* leaves out (clamps) one value in 20,000 at each end */
  MAFAT_N_RANGE_METHODS
};

struct mafat_range mafat_histogram_range(const struct mafat_histogram *h,
                                         enum mafat_range_method method);
/* Returns the mean squared error of quantization to that range. */
double mafat_histogram_error(const struct mafat_histogram *h, struct mafat_range r);

/* Returns the smallest range that contains both. */
struct mafat_range mafat_range_join(struct mafat_range a, struct mafat_range b);
/* Converts to quantization parameters: real = scale * (value - zero). 0 is exact, and the range is
 * covered to within half a step. */
void mafat_range_numbers(struct mafat_range r, float *scale, unsigned char *zero);

#endif
