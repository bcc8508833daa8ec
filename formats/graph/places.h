/* Decides where layers find their constants: in the file if it stores them as the kernels need
 * them, else in a copy in the network (mafat_network.values). Called by formats/graph, formats/onnx
 * and formats/tflite. Grows the network's values, which the network frees. Functions that return
 * int return MAFAT_OK or an error whose reason is in the graph's diagnostic. */
#ifndef MAFAT_FORMATS_GRAPH_PLACES_H
#define MAFAT_FORMATS_GRAPH_PLACES_H

#include "formats/graph/graph.h"

/* Decodes one value of 8, 16 or 32 bits, stored as `type`. */
double mafat_graph_number(const char *bytes, enum mafat_dtype type);
/* Copies n values to the network as floats. Sets *out to their place. */
int mafat_graph_keep_numbers(struct mafat_graph *g, struct mafat_constant *out,
                             const double *numbers, size_t n);
/* Copies n values to the network as integers of 8 or 32 bits. Sets *out to their place. */
int mafat_graph_keep_whole(struct mafat_graph *g, struct mafat_constant *out, const double *numbers,
                           size_t n, enum mafat_dtype type);
/* Sets *out to where a layer finds constant v in row-major order: in the file, or in a copy in the
 * network. The values are floats, or integers if v is quantized. */
int mafat_graph_place(struct mafat_graph *g, struct mafat_constant *out,
                      const struct mafat_value *v);
/* Makes the layer read narrow weights (4, 8 or 16 bits) from the file if the kernels can widen them
 * as stored. False: they cannot, and nothing changes. */
bool mafat_graph_place_narrow(struct mafat_graph *g, struct mafat_layer *l,
                              const struct mafat_value *v);
/* Adds a layer whose output is constant v as a feature map. axes[k]: the map's axis (height, width
 * or channels) on which v's dimension k is. */
int mafat_graph_constant_map(struct mafat_graph *g, struct mafat_value *out,
                             const struct mafat_value *v, const int *axes);
/* Ensures that *in, an operator's input number `input`, is a feature map: a constant is converted
 * to *own, and *in then points to *own, which the caller clears. */
int mafat_graph_need_map(struct mafat_graph *g, int input, struct mafat_value *own,
                         const struct mafat_value **in);

#endif
