/* Adds copy layers (kind rearrange), for reorderings that no tensor view can express. A copy layer
 * has parts: each copies elements of one operand (network/rearrange.h). Included by
 * formats/graph/joining.c and formats/graph/shape.c. Allocates layers in the graph. Functions that
 * return int return MAFAT_OK or an error whose reason is in the diagnostic. */
#ifndef MAFAT_FORMATS_GRAPH_COPYING_H
#define MAFAT_FORMATS_GRAPH_COPYING_H

#include "formats/graph/graph.h"

/* Adds a copy layer with space for n_parts parts. Its output has dimensions `dims`; dimension k is
 * on the map's axis axes[k]. Sets *view to the output's view. NULL: failed, and the diagnostic has
 * the reason. */
struct mafat_layer *mafat_graph_begin_copy(struct mafat_graph *g, int n_parts, int n_dims,
                                           const long long *dims, const int *axes,
                                           struct mafat_view *view);
/* Sets up a part that copies from view `from` of the input to view `to` of the output; both views
 * have the same dimensions. in_first: position in the input of the first element of `from`;
 * out_first: position in the output of the first element of `to`; both [axis]. */
int mafat_graph_set_copy(struct mafat_graph *g, struct mafat_part *part, struct mafat_view from,
                         struct mafat_view to, const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES]);
/* Adds operand v to copy layer l, and sets up the layer's next part to copy from it. */
int mafat_graph_add_copy(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v,
                         struct mafat_view from, struct mafat_view to,
                         const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES]);
extern const long long mafat_graph_origin[MAFAT_N_AXES]; /* all 0 */
/* Tries to merge a copy from `in` into the layer that made `in`. That layer must be a strided copy
 * with no other reader. It is changed to copy the final elements directly, and *layer is set to it.
 * If that is not possible, *layer is NULL. The result must not have more elements than the
 * input. */
int mafat_graph_copy_again(struct mafat_graph *g, struct mafat_layer **layer,
                           const struct mafat_value *in, struct mafat_view from,
                           const struct mafat_view *to, const int *axes,
                           const long long in_first[MAFAT_N_AXES]);
/* Completes copy layer l, and sets *out to its output, seen through the view. */
int mafat_graph_end_copy(struct mafat_graph *g, struct mafat_value *out, struct mafat_layer *l,
                         const struct mafat_view *view);

#endif
