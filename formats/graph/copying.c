/* Adds and merges layers that copy elements with strides. Called by formats/graph (joining.c,
 * shape.c). Allocates layers in the graph. */
#include "formats/graph/copying.h"

#include <limits.h>
#include <stdlib.h>

struct mafat_layer *mafat_graph_begin_copy(struct mafat_graph *g, int n_parts, int n_dims,
                                           const long long *dims, const int *axes,
                                           struct mafat_view *view)
{
  long long e[MAFAT_N_AXES];
  mafat_view_lay(view, n_dims, dims, axes, e);
  for (int a = 0; a < MAFAT_N_AXES; a++)
    if (e[a] < 1 || e[a] > INT_MAX / 4) {
      mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                       "a map cannot have %lld x %lld x %lld elements (height, width, channels)",
                       e[0], e[1], e[2]);
      return NULL;
    }
  struct mafat_layer *l = mafat_graph_add_layer(g, MAFAT_REARRANGE);
  if (!l) return NULL;
  l->rearrange = calloc(1, sizeof *l->rearrange + (size_t)n_parts * sizeof *l->rearrange->parts);
  if (!l->rearrange) {
    mafat_graph_fail_memory(g);
    return NULL;
  }
  l->rearrange->shape =
      (struct mafat_shape){(int)e[MAFAT_AXIS_H], (int)e[MAFAT_AXIS_W], (int)e[MAFAT_AXIS_C]};
  return l;
}

int mafat_graph_set_copy(struct mafat_graph *g, struct mafat_part *p, struct mafat_view from,
                         struct mafat_view to, const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES])
{
  if (!mafat_view_refine(&from, &to) || from.n_atoms > MAFAT_MAX_ATOMS)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "expected a copy along at most %d strided dimensions, found more",
                            MAFAT_MAX_ATOMS);
  p->n_atoms = from.n_atoms;
  for (int k = 0; k < from.n_atoms; k++)
    p->atoms[k] = (struct mafat_atom){(int)from.atoms[k].size, (signed char)to.atoms[k].axis,
                                      (int)to.atoms[k].step, (signed char)from.atoms[k].axis,
                                      (int)from.atoms[k].step};
  for (int a = 0; a < MAFAT_N_AXES; a++)
    p->in_first[a] = (int)in_first[a], p->out_first[a] = (int)out_first[a];
  return MAFAT_OK;
}

int mafat_graph_add_copy(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v,
                         struct mafat_view from, struct mafat_view to,
                         const long long in_first[MAFAT_N_AXES],
                         const long long out_first[MAFAT_N_AXES])
{
  int code = mafat_graph_set_copy(g, &l->rearrange->parts[l->rearrange->n_parts++], from, to,
                                  in_first, out_first);
  return code ? code : mafat_graph_add_operand(g, l, v);
}

const long long mafat_graph_origin[MAFAT_N_AXES];

int mafat_graph_end_copy(struct mafat_graph *g, struct mafat_value *out, struct mafat_layer *l,
                         const struct mafat_view *view)
{
  int code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output(g, out, l, view);
}

/* ---- merging copies ---- */

/* True if a layer only selects equidistant elements along each axis; returns origin and strides. */
static bool is_strided_copy(const struct mafat_layer *l, long long first[MAFAT_N_AXES],
                            long long step[MAFAT_N_AXES])
{
  const struct mafat_rearrange *r = l->rearrange;
  if (l->type != MAFAT_REARRANGE || r->n_parts != 1) return false;
  const struct mafat_part *p = &r->parts[0];
  if (mafat_part_leaves(p, l->operands[0].shape) ||
      mafat_part_elements(p) != mafat_shape_elements(l->out))
    return false;
  for (int a = 0; a < MAFAT_N_AXES; a++) {
    if (p->out_first[a]) return false;
    first[a] = p->in_first[a];
    step[a] = 0;
  }
  for (int k = 0; k < p->n_atoms; k++) {
    const struct mafat_atom *atom = &p->atoms[k];
    if (atom->out_axis != atom->in_axis || atom->out_step != 1 || step[atom->out_axis])
      return false;
    step[atom->out_axis] = atom->in_step;
  }
  return true;
}

int mafat_graph_copy_again(struct mafat_graph *g, struct mafat_layer **layer,
                           const struct mafat_value *in, struct mafat_view from,
                           const struct mafat_view *to, const int *axes,
                           const long long in_first[MAFAT_N_AXES])
{
  struct mafat_view view;
  long long at[MAFAT_N_AXES], step[MAFAT_N_AXES], e[MAFAT_N_AXES];
  struct mafat_layer *l = mafat_graph_maker(g, in);
  *layer = NULL;
  if (!l || !is_strided_copy(l, at, step)) return MAFAT_OK;
  for (int k = 0; k < from.n_atoms; k++) from.atoms[k].step *= step[from.atoms[k].axis];
  for (int a = 0; a < MAFAT_N_AXES; a++) at[a] += in_first[a] * step[a];
  mafat_view_lay(&view, to->n_dims, to->dims, axes, e);
  l->rearrange->shape =
      (struct mafat_shape){(int)e[MAFAT_AXIS_H], (int)e[MAFAT_AXIS_W], (int)e[MAFAT_AXIS_C]};
  *layer = l;
  return mafat_graph_set_copy(g, &l->rearrange->parts[0], from, *to, at, mafat_graph_origin);
}
