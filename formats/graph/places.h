/* Places constants for layers: in the file if stored suitably there, else as values of the
 * network. Included by formats/graph and formats/onnx. Allocates the network's values. */
#ifndef MAFAT_FORMATS_GRAPH_PLACES_H
#define MAFAT_FORMATS_GRAPH_PLACES_H

#include "formats/graph/graph.h"

/* Decodes one stored value. */
double mafat_graph_number(const char *bytes, enum mafat_dtype type);
/* Stores values as floats in the network. */
int mafat_graph_keep_numbers(struct mafat_graph *g, struct mafat_constant *out,
                             const double *numbers, size_t n);
/* Stores values as integers of a type in the network, as a file would. */
int mafat_graph_keep_whole(struct mafat_graph *g, struct mafat_constant *out, const double *numbers,
                           size_t n, enum mafat_dtype type);
/* Places a constant row-major, in the file or in the network: floats, or integers if quantized. */
int mafat_graph_place(struct mafat_graph *g, struct mafat_constant *out,
                      const struct mafat_value *v);
/* Leaves a layer's weights in the file if the kernels can widen them as stored. False: they
 * cannot. */
bool mafat_graph_place_narrow(struct mafat_graph *g, struct mafat_layer *l,
                              const struct mafat_value *v);
/* Makes a constant a map, with its dimensions on these axes. */
int mafat_graph_constant_map(struct mafat_graph *g, struct mafat_value *out,
                             const struct mafat_value *v, const int *axes);
/* Ensures that input `input` of an operator, *in, is a map: a constant is converted to *own, which
 * the caller clears. */
int mafat_graph_need_map(struct mafat_graph *g, int input, struct mafat_value *own,
                         const struct mafat_value **in);

#endif
