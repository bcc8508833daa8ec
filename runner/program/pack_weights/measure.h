/* How far weights of narrow types move what layers put out, on one picture: each layer's own share, since all before it
 * are as they are with floats; and what comes of all together at the end. */
#ifndef MAFAT_RUNNER_PROGRAM_PACK_WEIGHTS_MEASURE_H
#define MAFAT_RUNNER_PROGRAM_PACK_WEIGHTS_MEASURE_H

#include "network/network.h"

/* Of a layer's output: relative to that of floats. */
struct mafat_measured {
  double error;   /* root of the mean of squares */
  double largest; /* difference, of the largest magnitude */
};

struct mafat_measure;

/* Runs the network with its weights as they are, floats, on the picture, and keeps what its layers put out: in memory, for
 * all that may be narrow. The network stays the caller's; its layers' types are those that it has for a run. MAFAT_EINVAL:
 * it has not one input, a picture; what opening and running give. */
int mafat_measure_open(struct mafat_measure **out, struct mafat_network *n, const char *weights, const char *picture,
                       struct mafat_diagnostic *d);
/* The same with a packed file, of the types that the network's layers have now. layers: [n_layers], of those that have
 * panels; last: of the last layer, where all are narrow. */
int mafat_measure_run(struct mafat_measure *m, const char *packed, struct mafat_measured *layers, struct mafat_measured *last,
                      struct mafat_diagnostic *d);
void mafat_measure_close(struct mafat_measure **m);

#endif
