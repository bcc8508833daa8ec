/* Adds layers for operators that combine elements along dimensions: normalize, reduce, topk,
 * gather, resample.
 *
 * `out` is an empty value; the caller clears it. `in` is a map and does not change. over[k] is true
 * if the operator combines elements along dimension k.
 *
 * Included by formats/onnx/import_channels.c, formats/onnx/import_dynamic.c and
 * formats/tflite/import_channels.c. Allocates layers in the graph. */
#ifndef MAFAT_FORMATS_GRAPH_ACROSS_H
#define MAFAT_FORMATS_GRAPH_ACROSS_H

#include "formats/graph/graph.h"

/* Normalizes over all elements of the selected dimensions together: softmax, norms. */
int mafat_graph_normalize_over(struct mafat_graph *g, struct mafat_value *out,
                               const struct mafat_value *in, const bool *over,
                               struct mafat_normalize how);
/* Normalizes an integer map over the selected dimension, which must be the last one. Then
 * multiplies by numbers[0] if n > 0, and adds numbers[1] if n > 1: constants with one float for
 * each element of that dimension. n is at most MAFAT_GRAPH_SCALED. */
enum { MAFAT_GRAPH_SCALED = 2 };
int mafat_graph_normalize_scaled(struct mafat_graph *g, struct mafat_value *out,
                                 const struct mafat_value *in, const bool *over,
                                 struct mafat_normalize how,
                                 const struct mafat_value *const *numbers, int n);
/* Reduces the selected dimensions to size 1, or removes them if not `keep`. This function sets
 * rows, cols and channels of its copy of `how`. */
int mafat_graph_reduce(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const bool *over, struct mafat_reduce how, bool keep);
/* Sets `values` to the k largest or smallest elements along a dimension, best first, and `places`
 * to their indices in the dimension. Both are empty values that the caller clears. */
int mafat_graph_topk(struct mafat_graph *g, struct mafat_value *values, struct mafat_value *places,
                     const struct mafat_value *in, int dim, long long k, bool smallest);
/* Selects elements of dimension `dim` by the indices in `places`. In the result, the dimensions of
 * `places` replace dimension `dim`. If the indices are known only at run time, `in` must be a
 * constant of two dimensions, and `dim` must be 0. */
int mafat_graph_gather(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const struct mafat_value *places, int dim);

/* Resizes rows and columns. `view` describes the result. */
struct mafat_resample;
int mafat_graph_resample(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, const struct mafat_resample *how,
                         const struct mafat_view *view);

#endif
