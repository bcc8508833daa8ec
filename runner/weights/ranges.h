/* Chooses the range of real numbers that the 256 values of a byte represent, from observed values
 * of a tensor. Touches only its arguments. Included by equalize.h; called by runner/weights and
 * api/packing. */
#ifndef MAFAT_RUNNER_WEIGHTS_RANGES_H
#define MAFAT_RUNNER_WEIGHTS_RANGES_H

#include <stddef.h>

enum { MAFAT_HISTOGRAM_BINS = 4096 };

/* Range of real numbers; always includes 0. */
struct mafat_range {
  double least, most;
};

/* Distribution of observed values. Two passes over the values are needed: the first finds the range
 * `seen`, the second fills the bins. Zeros are not counted, because every range represents them
 * exactly. */
struct mafat_histogram {
  struct mafat_range seen;
  double bins[MAFAT_HISTOGRAM_BINS]; /* number of values in each of the bins, which divide `seen`
                                        into equal widths */
  double n; /* number of values in all bins */
};

/* Extends the range to include n values. */
void mafat_range_see(struct mafat_range *seen, const float *x, size_t n);
/* Adds n values to the bins; all must be in the range h->seen. */
void mafat_histogram_add(struct mafat_histogram *h, const float *x, size_t n);

enum mafat_range_method {
  MAFAT_RANGE_SQUARES,    /* least sum of squared errors of rounding and clamping */
  MAFAT_RANGE_PERCENTILE, /* clamps one value in 20,000 at each end */
  MAFAT_N_RANGE_METHODS
};

/* Returns the range that the method chooses. */
struct mafat_range mafat_histogram_range(const struct mafat_histogram *h,
                                         enum mafat_range_method method);
/* Returns the mean squared error of the values in the histogram if they are quantized with this
 * range. */
double mafat_histogram_error(const struct mafat_histogram *h, struct mafat_range r);

/* Returns the smallest range that contains both. */
struct mafat_range mafat_range_join(struct mafat_range a, struct mafat_range b);
/* Converts a range to quantization parameters: real = scale * (byte - zero). 0 is represented
 * exactly; the ends of the range may move by up to half a step (scale / 2). */
void mafat_range_numbers(struct mafat_range r, float *scale, unsigned char *zero);

#endif
