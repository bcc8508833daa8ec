/* Decides where layers find their constants: in the file if it stores them as the kernels need
 * them, else in a copy in the network (mafat_network.values). Included by formats/graph and
 * formats/onnx. Allocates the network's values. */
#ifndef MAFAT_FORMATS_GRAPH_PLACES_H
#define MAFAT_FORMATS_GRAPH_PLACES_H

#include "formats/graph/graph.h"

/* Decodes one stored value. */
double mafat_graph_number(const char *bytes, enum mafat_dtype type);
/* Copies values to the network as floats; *out says where they are. */
int mafat_graph_keep_numbers(struct mafat_graph *g, struct mafat_constant *out,
                             const double *numbers, size_t n);
/* Copies values to the network as integers of a type, in that type's bytes. */
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
/* Adds a layer whose output is constant v as a map, with dimension k on axis axes[k]. */
int mafat_graph_constant_map(struct mafat_graph *g, struct mafat_value *out,
                             const struct mafat_value *v, const int *axes);
/* Ensures that input `input` of an operator, *in, is a map: a constant is converted to *own, which
 * the caller clears. */
int mafat_graph_need_map(struct mafat_graph *g, int input, struct mafat_value *own,
                         const struct mafat_value **in);

#endif
