/* How far narrow weights, and activations as whole numbers, move what layers put out, on some pictures: each layer's own
 * share, since all before it are as they are with floats; and what comes of all together at the end. */
#ifndef MAFAT_API_PACKING_MEASURE_H
#define MAFAT_API_PACKING_MEASURE_H

#include "base/model_source.h"
#include "network/network.h"

/* Of a layer's output: relative to that of floats. */
struct mafat_measured {
  double error;   /* root of the mean of squares */
  double largest; /* difference, of the largest magnitude */
};

struct mafat_measure;

/* Opens the network with its weights as the model's own file has them. Network and paths stay the caller's. MAFAT_EINVAL: it
 * has not one input, a picture; what opening gives. */
int mafat_measure_open(struct mafat_measure **out, const struct mafat_network *n, struct mafat_model_source *weights, const char *const *pictures,
                       int n_pictures, struct mafat_diagnostic *d);
/* Runs it on the pictures, and beside it a packed file of it, whose network `narrow` is. place: [n's layers], the layer of
 * narrow that puts out the same; NULL: that of the same number. factors: [n's layers], of the channels that it has there
 * (equalize.h); NULL: none have any. layers: [n's layers], of those that may lose something; last:
 * of the network's outputs, where all are narrow. */
int mafat_measure_run(struct mafat_measure *m, const struct mafat_network *narrow, const char *packed, const int *place,
                      float *const *factors, struct mafat_measured *layers, struct mafat_measured *last, struct mafat_diagnostic *d);
void mafat_measure_close(struct mafat_measure **m);

#endif
