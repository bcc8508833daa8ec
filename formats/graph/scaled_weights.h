/* Weights of whole numbers, which scales and a zero point give their meaning: where a convolution has them. It lies in the network
 * already, as shapes and types have it; its order is the caller's. */
#ifndef MAFAT_FORMATS_GRAPH_SCALED_WEIGHTS_H
#define MAFAT_FORMATS_GRAPH_SCALED_WEIGHTS_H

#include "formats/graph/places.h"

/* Beside floats, its input and output: weights of int8, and what they are to be multiplied by. */
int mafat_graph_place_hybrid(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *weights);
/* Beside whole numbers, its input and output; bias: NULL: none; single: quantization.h. */
int mafat_graph_place_integers(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *weights,
                               const struct mafat_value *bias, bool single);

#endif
