/* Which reals the 256 numbers of a byte shall stand for, by what a tensor was seen to hold. */
#ifndef MAFAT_RUNNER_WEIGHTS_RANGES_H
#define MAFAT_RUNNER_WEIGHTS_RANGES_H

#include <stddef.h>

enum { MAFAT_HISTOGRAM_BINS = 4096 };

/* From one real to another, 0 always among them. */
struct mafat_range {
  double least, most;
};

/* What was seen, in two passes: first how far it reaches, then how much of it lies where; but 0, which every range has exactly. */
struct mafat_histogram {
  struct mafat_range seen;
  double bins[MAFAT_HISTOGRAM_BINS]; /* of equal width */
  double n;
};

/* Extends what is seen. */
void mafat_range_see(struct mafat_range *seen, const float *x, size_t n);
/* Counts them in bins; all have been seen. */
void mafat_histogram_add(struct mafat_histogram *h, const float *x, size_t n);

enum mafat_range_method {
  MAFAT_RANGE_SQUARES,    /* the least sum of squared errors: of rounding inside, of what is cut off outside */
  MAFAT_RANGE_PERCENTILE, /* all but one of 10,000, as many cut off on either side */
  MAFAT_N_RANGE_METHODS
};

struct mafat_range mafat_histogram_range(const struct mafat_histogram *h, enum mafat_range_method method);
/* Mean of squared errors of numbers of that range. */
double mafat_histogram_error(const struct mafat_histogram *h, struct mafat_range r);

/* Both. */
struct mafat_range mafat_range_join(struct mafat_range a, struct mafat_range b);
/* A number means scale * (number - zero): 0 exactly, and all of the range but half a step. */
void mafat_range_numbers(struct mafat_range r, float *scale, unsigned char *zero);

#endif
