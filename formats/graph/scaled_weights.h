/* Decides where a convolution finds its quantized weights and their scales. The layer already has
 * its shapes and types; the caller sets the weights' order. Included by formats/graph/compute.c.
 * Changes the layer and its constants. */
#ifndef MAFAT_FORMATS_GRAPH_SCALED_WEIGHTS_H
#define MAFAT_FORMATS_GRAPH_SCALED_WEIGHTS_H

#include "formats/graph/places.h"

/* For layers with float input and output. Weights that the kernels can widen stay in the file, and
 * are dequantized when a run reads them; others are dequantized now, into the network's constants
 * in memory (network->values). */
int mafat_graph_place_hybrid(struct mafat_graph *g, struct mafat_layer *l,
                             const struct mafat_value *weights);
/* For layers with integer input and output. bias NULL: none; single: see
 * network/quantization.h. */
int mafat_graph_place_integers(struct mafat_graph *g, struct mafat_layer *l,
                               const struct mafat_value *weights, const struct mafat_value *bias,
                               bool single);

#endif
