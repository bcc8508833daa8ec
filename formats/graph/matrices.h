/* Adds layers for matrix products, and the zero insertion of transposed convolutions. `out` is an
 * empty value; inputs do not change. Included by formats/onnx/import_layers.c,
 * formats/onnx/import_matrices.c and formats/tflite/import_layers.c. Allocates layers in the
 * graph. */
#ifndef MAFAT_FORMATS_GRAPH_MATRICES_H
#define MAFAT_FORMATS_GRAPH_MATRICES_H

#include "formats/graph/graph.h"

/* Multiplies the rows of map `a` (its last dimension) by a constant matrix b [inputs, filters], or
 * [filters, inputs] if `transposed`. bias: NULL, or one value per filter. All other dimensions of
 * `a` stay. */
int mafat_graph_multiply_constant(struct mafat_graph *g, struct mafat_value *out,
                                  const struct mafat_value *a, const struct mafat_value *b,
                                  bool transposed, const struct mafat_value *bias);
/* Multiplies the matrices in the last two dimensions of a and b. Earlier dimensions are indices of
 * the matrices; each is equal in a and b, or 1 in one of them. Constants become maps. */
int mafat_graph_multiply_maps(struct mafat_graph *g, struct mafat_value *out,
                              const struct mafat_value *a, const struct mafat_value *b);

/* Zero insertion along rows or columns. The output has `size` elements: `first` zeros, then the
 * input's elements, `stride` apart, with zeros between and after them. */
struct mafat_graph_spread {
  long long size, first, stride;
};
/* Inserts zeros between the rows and between the columns of `in`, each of which must be one
 * dimension. dims: the dimensions of the result and their axes. */
struct mafat_graph_dims;
int mafat_graph_spread(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const struct mafat_graph_spread *rows,
                       const struct mafat_graph_spread *columns,
                       const struct mafat_graph_dims *dims);

#endif
