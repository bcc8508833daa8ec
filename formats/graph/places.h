/* Constants as layers need them: numbers in the file, or among the network's values where none lie so in the file. */
#ifndef MAFAT_FORMATS_GRAPH_PLACES_H
#define MAFAT_FORMATS_GRAPH_PLACES_H

#include "formats/graph/graph.h"

/* A number as it lies in a file. */
double mafat_graph_number(const char *bytes, enum mafat_dtype type);
/* Numbers among the network's values. */
int mafat_graph_keep_numbers(struct mafat_graph *g, struct mafat_constant *out, const double *numbers, size_t n);
/* The same of whole numbers of a type, which lie as they would in a file. */
int mafat_graph_keep_whole(struct mafat_graph *g, struct mafat_constant *out, const double *numbers, size_t n, enum mafat_dtype type);
/* A constant as a layer needs it: numbers in row-major order, in the file or among the network's values: floats, or, of quantized
 * ones, whole numbers. */
int mafat_graph_place(struct mafat_graph *g, struct mafat_constant *out, const struct mafat_value *v);
/* A layer's weights, which lie so in the file and that kernels widen: they stay there. False: they are others. */
bool mafat_graph_place_narrow(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v);
/* A constant as a map of its own, whose dimensions lie on these axes. */
int mafat_graph_constant_map(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *v,
                             const int *axes);
/* Input number `input` of an operator as a map: a constant becomes one, *own, which is the caller's to clear and the
 * new *in. */
int mafat_graph_need_map(struct mafat_graph *g, int input, struct mafat_value *own, const struct mafat_value **in);

#endif
