/* Measures the errors that narrow weights and quantized activations cause, on some pictures. The
 * error of a layer is measured with exact inputs, those of the float network. The error of the
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

/* Opens the float network with its weights. The caller still owns network and paths, which must
 * outlive the result. MAFAT_EINVAL: the network does not have exactly one input, a picture; also
 * errors of opening. */
int mafat_measure_open(struct mafat_measure **out, const struct mafat_network *n,
                       struct mafat_model_source *weights, const char *const *pictures,
                       int n_pictures, struct mafat_diagnostic *d);
/* Runs the float network, and `narrow`, the network of its packed file, on the pictures. Sets
 * layers[] to the errors of the layers that may lose precision, and *last to the error of the
 * network's outputs. Arrays are indexed by layers of the float network. place[]: layer of `narrow`
 * with the same output; NULL: the same index. factors[]: factors of the layer's channels
 * (equalize.h); NULL: none. Opens the packed file; allocates. */
int mafat_measure_run(struct mafat_measure *m, const struct mafat_network *narrow,
                      const char *packed, const int *place, float *const *factors,
                      struct mafat_measured *layers, struct mafat_measured *last,
                      struct mafat_diagnostic *d);
void mafat_measure_close(struct mafat_measure **m);

#endif
