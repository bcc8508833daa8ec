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

/* Normalizes over all elements of these dimensions together: softmax, norms. */
int mafat_graph_normalize_over(struct mafat_graph *g, struct mafat_value *out,
                               const struct mafat_value *in, const bool *over,
                               struct mafat_normalize how);
/* Normalizes the last dimension of an integer map by mean and variance. Then multiplies by the
 * first and adds the second of up to MAFAT_GRAPH_SCALED constants, each with as many floats as the
 * dimension. */
enum { MAFAT_GRAPH_SCALED = 2 };
int mafat_graph_normalize_scaled(struct mafat_graph *g, struct mafat_value *out,
                                 const struct mafat_value *in, const bool *over,
                                 struct mafat_normalize how,
                                 const struct mafat_value *const *numbers, int n);
/* Reduces these dimensions to 1, or removes them without `keep`. The map axes in `how` are filled
 * in here. */
int mafat_graph_reduce(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const bool *over, struct mafat_reduce how, bool keep);
/* Finds the k largest or smallest elements along a dimension, best first: `values`. `places`: their
 * indices in the dimension. */
int mafat_graph_topk(struct mafat_graph *g, struct mafat_value *values, struct mafat_value *places,
                     const struct mafat_value *in, int dim, long long k, bool smallest);
/* Selects elements of one dimension by the indices in `places`, whose dimensions replace it. If the
 * indices are known only at run time, `in` must be a constant of two dimensions, and dim 0. */
int mafat_graph_gather(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const struct mafat_value *places, int dim);

/* Resizes rows and columns. `view` describes the result. */
struct mafat_resample;
int mafat_graph_resample(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, const struct mafat_resample *how,
                         const struct mafat_view *view);

#endif
