/* Operators that move elements of maps and constants: reshape, transpose, slice, split, concat,
 * pad, expand. Most only change the view; the others add a copy layer. `out` is an empty value;
 * `in` does not change. Included by formats/graph, formats/onnx and formats/tflite. Changes views,
 * and adds copy layers if necessary. */
#ifndef MAFAT_FORMATS_GRAPH_SHAPE_H
#define MAFAT_FORMATS_GRAPH_SHAPE_H

#include "formats/graph/graph.h"

/* Reshapes; mafat_graph_reshape_open also accepts one dimension of -1, which is inferred. */
int mafat_graph_reshape_open(struct mafat_graph *g, struct mafat_value *out,
                             const struct mafat_value *in, int n_dims, const long long *dims);
int mafat_graph_reshape(struct mafat_graph *g, struct mafat_value *out,
                        const struct mafat_value *in, int n_dims, const long long *dims);
/* dims[i] of the output is dims[order[i]] of the input. */
int mafat_graph_transpose(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_value *in, const int *order);

/* Puts dimension k on axis axes[k] of the map. Several dimensions on an axis are row-major. Copies
 * the map if necessary. */
int mafat_graph_lay(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                    const int *axes);
/* Sets axes[k] to the axis of dimension k. For a dimension that is spread over several axes,
 * axes[k] is the axis of its innermost atom. */
void mafat_graph_axes(const struct mafat_value *v, int *axes);

/* Selects n elements of one dimension, `step` apart, from `first` on; all are in range. */
int mafat_graph_slice(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                      int dim, long long first, long long n, long long step);
/* Splits a dimension into n slices of these sizes; outs[k] NULL: slice k is not needed. If the
 * slices cannot be views, adds one layer with an output for each needed slice. */
int mafat_graph_split(struct mafat_graph *g, struct mafat_value *const *outs,
                      const struct mafat_value *in, int dim, const long long *sizes, int n);
/* Concatenates along one dimension. */
int mafat_graph_concat(struct mafat_graph *g, struct mafat_value *out,
                       const struct mafat_value *const *in, int n, int dim);
/* Adds before[k] and after[k] elements at the ends of each dimension; negative counts remove
 * elements. `outside`: how new elements are made; `fill`: their value if constant. */
int mafat_graph_pad(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                    const long long *before, const long long *after, enum mafat_outside outside,
                    float fill);
/* Repeats dimensions of size 1, so that dimension k of the result has size dims[k]. */
int mafat_graph_expand(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const long long *dims);

#endif
