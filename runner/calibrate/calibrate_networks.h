/* The networks that are measured for a calibration: made as text from a few words. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_NETWORKS_H

#include "network/network.h"

enum { MAFAT_CALIBRATE_NETWORKS = 6 };

/* How much smaller than on an ordinary machine: 1, 2, 4. */
struct mafat_calibrate_scale {
  int extent; /* of the pictures, a side */
  int channels;
};

/* MAFAT_ENOMEM. */
int mafat_calibrate_network(struct mafat_network **out, int number, struct mafat_calibrate_scale scale,
                            struct mafat_diagnostic *d);
/* Darknet's weights for it: small random numbers, so that no output overflows or
 * vanishes. MAFAT_EIO. */
int mafat_calibrate_write_weights(const struct mafat_network *n, int fd, struct mafat_diagnostic *d);

#endif
