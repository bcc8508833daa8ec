/* Operators that look at many elements of one or several dimensions. `out` is a value that is cleared; `in` stays as it
 * is, and is a map. over[k]: is dimension k one of these? */
#ifndef MAFAT_FORMATS_GRAPH_ACROSS_H
#define MAFAT_FORMATS_GRAPH_ACROSS_H

#include "formats/graph/graph.h"

/* All elements of these dimensions among themselves: softmax, norms. */
int mafat_graph_normalize_over(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                               const bool *over, struct mafat_normalize how);
/* The last dimension of whole numbers, less its mean by its variance, then times the first and plus the second of up to
 * MAFAT_GRAPH_SCALED constants of as many floats. */
enum { MAFAT_GRAPH_SCALED = 2 };
int mafat_graph_normalize_scaled(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, const bool *over,
                                 struct mafat_normalize how, const struct mafat_value *const *numbers, int n);
/* These dimensions become 1, or, without `keep`, go. how: which of the map's axes they lie on is found out here. */
int mafat_graph_reduce(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, const bool *over,
                       struct mafat_reduce how, bool keep);
/* The k largest, or smallest, along a dimension, best first, and their places along it. */
int mafat_graph_topk(struct mafat_graph *g, struct mafat_value *values, struct mafat_value *places, const struct mafat_value *in,
                     int dim, long long k, bool smallest);
/* Of one dimension the elements at these places, whose dimensions stand where that one was. Places that are computed in
 * runs: of dimension 0 of a constant of two dimensions. */
int mafat_graph_gather(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const struct mafat_value *places, int dim);

/* A map of other rows and columns, which has this view. */
struct mafat_resample;
int mafat_graph_resample(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                         const struct mafat_resample *how, const struct mafat_view *view);

#endif
