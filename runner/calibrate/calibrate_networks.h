/* Networks that a calibration measures, generated from short descriptions. Allocates. Included by
 * calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H

#include "network/network.h"

enum { MAFAT_CALIBRATE_NETWORKS = 6 };

/* Divisors, 1 (full size), 2 or 4, that make networks smaller if there is little memory. */
struct mafat_calibrate_scale {
  int extent; /* divides the picture's sides */
  int channels;
};

/* Generates network `number`, below MAFAT_CALIBRATE_NETWORKS; the caller closes it.
 * MAFAT_ENOMEM. */
int mafat_calibrate_network(struct mafat_network **out, int number,
                            struct mafat_calibrate_scale scale, struct mafat_diagnostic *d);
/* Writes Darknet weights for a network to fd: small random numbers, so that outputs neither
 * overflow nor vanish. Returns MAFAT_EIO or MAFAT_ENOMEM on failure. */
int mafat_calibrate_write_weights(const struct mafat_network *n, int fd,
                                  struct mafat_diagnostic *d);

#endif
