/* Adds copy layers (kind rearrange), for reorderings that no tensor view can express. Included by
 * formats/graph/joining.c and formats/graph/shape.c. Allocates layers in the graph. */
#ifndef MAFAT_FORMATS_GRAPH_COPYING_H
#define MAFAT_FORMATS_GRAPH_COPYING_H

#include "formats/graph/graph.h"

/* Adds a copy layer with n_parts parts, whose output has these dimensions on these axes; fills in
 * its view. NULL: failed, with a message. */
struct mafat_layer *mafat_graph_begin_copy(struct mafat_graph *g, int n_parts, int n_dims,
                                           const long long *dims, const int *axes,
                                           struct mafat_view *view);
/* Sets a part that copies from view `from` to view `to`, both with the same dimensions, relative to
 * these origins. */
int mafat_graph_set_copy(struct mafat_graph *g, struct mafat_part *part, struct mafat_view from,
                         struct mafat_view to, const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES]);
/* Adds an operand with such a part. */
int mafat_graph_add_copy(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v,
                         struct mafat_view from, struct mafat_view to,
                         const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES]);
extern const long long mafat_graph_origin[MAFAT_N_AXES];
/* Merges a copy into the strided copy that made its input, if that map has no other reader: the
 * earlier layer then copies the final elements directly and is returned. *layer NULL: not such a
 * map. The result must not have more elements than the input. */
int mafat_graph_copy_again(struct mafat_graph *g, struct mafat_layer **layer,
                           const struct mafat_value *in, struct mafat_view from,
                           const struct mafat_view *to, const int *axes,
                           const long long in_first[MAFAT_N_AXES]);
int mafat_graph_end_copy(struct mafat_graph *g, struct mafat_value *out, struct mafat_layer *l,
                         const struct mafat_view *view);

#endif
