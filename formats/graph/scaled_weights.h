/* Places quantized weights, with scales and a zero point, for convolutions. The layer already has
 * its shapes and types; the caller sets the storage order. Included by formats/graph/compute.c.
 * Changes the layer and its constants. */
#ifndef MAFAT_FORMATS_GRAPH_SCALED_WEIGHTS_H
#define MAFAT_FORMATS_GRAPH_SCALED_WEIGHTS_H

#include "formats/graph/places.h"

/* With float input and output: int8 weights and their scales. */
int mafat_graph_place_hybrid(struct mafat_graph *g, struct mafat_layer *l,
                             const struct mafat_value *weights);
/* With integer input and output. bias NULL: none; single: see network/quantization.h. */
int mafat_graph_place_integers(struct mafat_graph *g, struct mafat_layer *l,
                               const struct mafat_value *weights, const struct mafat_value *bias,
                               bool single);

#endif
