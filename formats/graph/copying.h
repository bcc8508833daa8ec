/* One layer that copies elements to other places: where no view can say otherwise where they are. */
#ifndef MAFAT_FORMATS_GRAPH_COPYING_H
#define MAFAT_FORMATS_GRAPH_COPYING_H

#include "formats/graph/graph.h"

/* A layer that makes a map of these dimensions on these axes, of so many parts; its view. NULL: told. */
struct mafat_layer *mafat_graph_begin_copy(struct mafat_graph *g, int n_parts, int n_dims, const long long *dims,
                                           const int *axes, struct mafat_view *view);
/* A part that is such a copy: from where `from` has its elements to where `to` has them, both of the same dimensions,
 * counted from these places. */
int mafat_graph_set_copy(struct mafat_graph *g, struct mafat_part *part, struct mafat_view from, struct mafat_view to,
                         const long long in_first[MAFAT_N_AXES], const long long out_first[MAFAT_N_AXES]);
/* One operand more: from where `from` has its elements to where `to` has them, both of the same dimensions, counted
 * from these places. */
int mafat_graph_add_copy(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v,
                         struct mafat_view from, struct mafat_view to, const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES]);
extern const long long mafat_graph_origin[MAFAT_N_AXES];
/* Elements of a map that a copy made which takes every so many rows, columns and channels, and which nobody else reads:
 * that copy takes them at once, and is the layer. NULL: it is no such map. No more elements than it has. */
int mafat_graph_copy_again(struct mafat_graph *g, struct mafat_layer **layer, const struct mafat_value *in,
                           struct mafat_view from, const struct mafat_view *to, const int *axes,
                           const long long in_first[MAFAT_N_AXES]);
int mafat_graph_end_copy(struct mafat_graph *g, struct mafat_value *out, struct mafat_layer *l,
                         const struct mafat_view *view);

#endif
