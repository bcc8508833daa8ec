/* Networks that a calibration measures, generated from short descriptions. Allocates. Included by
 * calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H

#include "network/network.h"

enum { MAFAT_CALIBRATE_NETWORKS = 6 };

/* Divisors that shrink the networks if memory is small: 1 (full size), 2 or 4. */
struct mafat_calibrate_scale {
  int extent; /* of the picture's side */
  int channels;
};

/* Generates network `number`. MAFAT_ENOMEM. */
int mafat_calibrate_network(struct mafat_network **out, int number,
                            struct mafat_calibrate_scale scale, struct mafat_diagnostic *d);
/* Writes Darknet weights for it: small random numbers, so that outputs neither overflow nor vanish.
 * MAFAT_EIO. */
int mafat_calibrate_write_weights(const struct mafat_network *n, int fd,
                                  struct mafat_diagnostic *d);

#endif
