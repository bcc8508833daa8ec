/* Products of matrices, and maps that are spread for transposed convolutions. `out` is a value that is cleared; inputs
 * stay as they are. */
#ifndef MAFAT_FORMATS_GRAPH_MATRICES_H
#define MAFAT_FORMATS_GRAPH_MATRICES_H

#include "formats/graph/graph.h"

/* The last dimension of `a`, a map, by a constant of two: [inputs, filters], or, `transposed`, [filters, inputs].
 * bias: NULL, or as many numbers as filters. What the rows of a map with several dimensions are does not matter:
 * they stay. */
int mafat_graph_multiply_constant(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *a,
                                  const struct mafat_value *b, bool transposed, const struct mafat_value *bias);
/* The last two dimensions of both; those before count matrices, as many of both or one. Constants become maps. */
int mafat_graph_multiply_maps(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *a,
                              const struct mafat_value *b);

/* Of rows, or of columns: elements come to lie so far apart, behind `first` zeros, in `size` places. */
struct mafat_graph_spread {
  long long size, first, stride;
};
/* `in`: laid, its rows and columns on one dimension each; dims: the dimensions of the result. */
struct mafat_graph_dims;
int mafat_graph_spread(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const struct mafat_graph_spread *rows, const struct mafat_graph_spread *columns,
                       const struct mafat_graph_dims *dims);

#endif
