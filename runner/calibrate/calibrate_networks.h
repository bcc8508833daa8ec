/* Networks that a calibration measures, generated from short descriptions. Allocates a network,
 * which the caller closes; writes weights to a file that the caller has opened. Included by
 * calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H

#include "network/network.h"

enum { MAFAT_CALIBRATE_NETWORKS = 6 };

/* Divisors, 1 (full size), 2 or 4, that make networks smaller if there is little memory or the
 * processor is slow. */
struct mafat_calibrate_scale {
  int extent;   /* divides the picture's width and height */
  int channels; /* divides the numbers of filters of some networks */
};

/* Generates a network; `number` is 0 to MAFAT_CALIBRATE_NETWORKS - 1. The caller closes it.
 * MAFAT_OK or MAFAT_ENOMEM. */
int mafat_calibrate_network(struct mafat_network **out, int number,
                            struct mafat_calibrate_scale scale, struct mafat_diagnostic *d);
/* Writes Darknet weights for a network to fd: small random numbers, so that outputs neither
 * overflow nor vanish. Returns MAFAT_EIO or MAFAT_ENOMEM on failure. */
int mafat_calibrate_write_weights(const struct mafat_network *n, int fd,
                                  struct mafat_diagnostic *d);

#endif
