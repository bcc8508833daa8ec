/* Operators that move elements, or only say otherwise where they are: of maps, and of constants. `out` is a value that
 * is cleared; `in` stays as it is. */
#ifndef MAFAT_FORMATS_GRAPH_SHAPE_H
#define MAFAT_FORMATS_GRAPH_SHAPE_H

#include "formats/graph/graph.h"

/* A dimension of -1 becomes what is left of the elements. */
int mafat_graph_reshape_open(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int n_dims,
                             const long long *dims);
int mafat_graph_reshape(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int n_dims,
                        const long long *dims);
/* dims[i] of the output is dims[order[i]] of the input. */
int mafat_graph_transpose(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                          const int *order);

/* A map whose every dimension lies whole on one axis, those of one axis in row-major order: copied where it does
 * not. */
int mafat_graph_lay(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, const int *axes);
/* The axes that the dimensions lie on now, or would best where they are spread over several. */
void mafat_graph_axes(const struct mafat_value *v, int *axes);

/* Along one dimension: n elements, `step` apart, from `first` on; all of these are inside. */
int mafat_graph_slice(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int dim,
                      long long first, long long n, long long step);
/* Slices of these sizes, one after the other along a dimension; outs: NULL of those that nobody wants. What no view can
 * show is one layer with an output for each that is wanted. */
int mafat_graph_split(struct mafat_graph *g, struct mafat_value *const *outs, const struct mafat_value *in, int dim,
                      const long long *sizes, int n);
/* Behind each other along one dimension. */
int mafat_graph_concat(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *const *in, int n,
                       int dim);
/* With elements before and after each dimension; negative: that many fewer. */
int mafat_graph_pad(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                    const long long *before, const long long *after, enum mafat_outside outside, float fill);
/* Dimensions of 1 become others: each element is there so many times. */
int mafat_graph_expand(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const long long *dims);

#endif
