/* Measures the errors that narrow weights and quantized activations cause in layer outputs, on
 * some pictures. Each layer's error is measured alone, with float inputs. The error of the
 * network's outputs is measured with all layers narrow. Included by api/packing/narrowing.c and
 * api/packing/numbering.c. Runs two networks on pictures through observe.c; allocates. */
#ifndef MAFAT_API_PACKING_MEASURE_H
#define MAFAT_API_PACKING_MEASURE_H

#include "base/model_source.h"
#include "network/network.h"

/* Errors of a layer's output, relative to the float output. */
struct mafat_measured {
  double error;   /* root mean square */
  double largest; /* largest difference, relative to the largest magnitude */
};

struct mafat_measure;

/* Opens the network with the weights of the model's own file. Network and paths stay the caller's.
 * MAFAT_EINVAL: the network does not have exactly one input, a picture; also errors of opening. */
int mafat_measure_open(struct mafat_measure **out, const struct mafat_network *n,
                       struct mafat_model_source *weights, const char *const *pictures,
                       int n_pictures, struct mafat_diagnostic *d);
/* Runs both the network and its packed file, whose network is `narrow`, on the pictures. Fills
 * layers[n's layers] for layers that may lose precision, and *last for the network's outputs.
 * place[n's layers]: number of the layer of `narrow` with the same output; NULL: equal numbers.
 * factors[n's layers]: factors of its channels (equalize.h); NULL: none. Opens the packed file;
 * allocates. */
int mafat_measure_run(struct mafat_measure *m, const struct mafat_network *narrow,
                      const char *packed, const int *place, float *const *factors,
                      struct mafat_measured *layers, struct mafat_measured *last,
                      struct mafat_diagnostic *d);
void mafat_measure_close(struct mafat_measure **m);

#endif
