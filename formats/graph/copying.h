/* Adds copy layers (kind rearrange), for reorderings that no tensor view can express. Included by
 * formats/graph/joining.c and formats/graph/shape.c. Allocates layers in the graph. */
#ifndef MAFAT_FORMATS_GRAPH_COPYING_H
#define MAFAT_FORMATS_GRAPH_COPYING_H

#include "formats/graph/graph.h"

/* Adds a copy layer with room for n_parts parts. Its output has dimensions `dims`, with dimension k
 * on axis axes[k]; *view becomes the output's view. NULL: failed, and the diagnostic has the
 * reason. */
struct mafat_layer *mafat_graph_begin_copy(struct mafat_graph *g, int n_parts, int n_dims,
                                           const long long *dims, const int *axes,
                                           struct mafat_view *view);
/* Sets up a part that copies from view `from` of the input to view `to` of the output; both views
 * have the same dimensions. in_first is the position in the input of the view's first element, by
 * axis; out_first is the position in the output. */
int mafat_graph_set_copy(struct mafat_graph *g, struct mafat_part *part, struct mafat_view from,
                         struct mafat_view to, const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES]);
/* Adds operand v and sets the next part to copy from it. */
int mafat_graph_add_copy(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v,
                         struct mafat_view from, struct mafat_view to,
                         const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES]);
extern const long long mafat_graph_origin[MAFAT_N_AXES]; /* all 0 */
/* Tries to merge a copy from `in` into the layer that made `in`. That layer must be a strided copy
 * with no other reader. It then copies the final elements directly, and *layer returns it. *layer
 * NULL: not possible. The result must not have more elements than the input. */
int mafat_graph_copy_again(struct mafat_graph *g, struct mafat_layer **layer,
                           const struct mafat_value *in, struct mafat_view from,
                           const struct mafat_view *to, const int *axes,
                           const long long in_first[MAFAT_N_AXES]);
int mafat_graph_end_copy(struct mafat_graph *g, struct mafat_value *out, struct mafat_layer *l,
                         const struct mafat_view *view);

#endif
