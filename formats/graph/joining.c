/* Concatenates values along a dimension: as a list of sources, or by a layer that copies. Called by
 * formats/graph/across.c and the importers in formats/onnx and formats/tflite. Allocates lists, and
 * layers in the graph. */
#include "base/blocks.h"
#include "formats/graph/copying.h"
#include "formats/graph/places.h"
#include "formats/graph/shape.h"
#include "network/sources.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Returns the innermost atom of dimension `dim` in the first map in which the dimension's size
 * exceeds 1. If its size is 1 in all maps, returns an atom on channels: of size 1 if the first map
 * has one channel, else of size 0 (unknown). */
static struct mafat_view_atom atom_along(const struct mafat_value *const *in, int n, int dim)
{
  for (int i = 0; i < n; i++) {
    const struct mafat_view *v = &in[i]->view;
    if (v->atoms_of[dim]) return v->atoms[mafat_view_first_atom(v, dim) + v->atoms_of[dim] - 1];
  }
  return (struct mafat_view_atom){in[0]->shape.c == 1, 1, MAFAT_AXIS_C};
}

/* Adds an atom of size 1, with the axis and step of `atom`, to a dimension of size 1, which has
 * none. */
static void add_unit_atom(struct mafat_view *v, int dim, struct mafat_view_atom atom)
{
  if (v->atoms_of[dim] || atom.size == 0 || v->n_atoms == MAFAT_VIEW_ATOMS) return;
  int first = mafat_view_first_atom(v, dim);
  memmove(&v->atoms[first + 1], &v->atoms[first], (size_t)(v->n_atoms - first) * sizeof *v->atoms);
  atom.size = 1;
  v->atoms[first] = atom;
  v->atoms_of[dim] = 1;
  v->n_atoms++;
}

/* True if the last channel blocks of both sources are equally wide in their tensors. A tensor with
 * more channels may store that block wider. */
static bool blocks_alike(const struct mafat_network *n, const struct mafat_source *x,
                         const struct mafat_source *y)
{
  int c = mafat_network_tensor_shape(n, x->tensor).c,
      d = mafat_network_tensor_shape(n, y->tensor).c;
  int last = mafat_n_blocks(x->n) - 1; /* blocks before it are full */
  return mafat_block_width(c, last) == mafat_block_width(d, last);
}

/* True if both have the same layout, except for the size of dimension `dim`, which must be the
 * outermost on its axis in both. */
static bool can_join(const struct mafat_graph *g, struct mafat_value *a, struct mafat_value *b,
                     int dim)
{
  const struct mafat_view_atom *x = mafat_value_outermost(a, dim),
                               *y = mafat_value_outermost(b, dim);
  if (!x || !y || x->axis != y->axis || x->step != y->step) return false;
  struct mafat_view v = a->view, w = b->view;
  mafat_view_set_size(&v, dim, 1);
  mafat_view_set_size(&w, dim, 1);
  bool rows = x->axis == MAFAT_AXIS_H;
  bool same =
      a->shape.w == b->shape.w && (rows ? a->shape.c == b->shape.c : a->shape.h == b->shape.h);
  /* one operand can only have rows of several tensors if these have the same channels and block
   * widths; else the rows are copied */
  bool plain = !rows || (a->sources.n == 1 && b->sources.n == 1 && a->sources.list->first == 0 &&
                         b->sources.list->first == 0 &&
                         blocks_alike(g->network, a->sources.list, b->sources.list));
  return same && plain && mafat_view_equals(&v, &w);
}

/* Appends the sources of `more` to those of `to`: no element is copied. */
static int join(struct mafat_graph *g, struct mafat_value *to, const struct mafat_value *more,
                int dim)
{
  struct mafat_view_atom *atom = mafat_value_outermost(to, dim);
  bool rows = atom->axis == MAFAT_AXIS_H;
  long long extent =
      rows ? (long long)to->shape.h + more->shape.h : (long long)to->shape.c + more->shape.c;
  if (extent > INT_MAX / 4)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "a map of %lld %s is too large", extent,
                            rows ? "rows" : "channels");
  int code = mafat_graph_cut_sources(g, mafat_sources_count(&to->sources) +
                                            mafat_sources_count(&more->sources));
  if (code) return code;
  code = rows ? mafat_sources_join_rows(&to->sources, &more->sources)
              : mafat_sources_join_channels(&to->sources, &more->sources);
  if (code) return mafat_graph_fail(g, code, "the map would consist of too many parts");
  *(rows ? &to->shape.h : &to->shape.c) += rows ? more->shape.h : more->shape.c;
  to->view.dims[dim] += more->view.dims[dim];
  atom->size += more->view.dims[dim];
  to->maker = -1;
  return MAFAT_OK;
}

/* Returns the axes of the innermost atoms. If several dimensions would be on channels, as in a list
 * of vectors, returns the default axes. */
static void axes_apart(const struct mafat_value *v, int *axes)
{
  int n_on[MAFAT_N_AXES] = {0};
  mafat_graph_axes(v, axes);
  for (int i = 0; i < v->view.n_dims; i++) n_on[axes[i]] += v->view.dims[i] > 1;
  if (n_on[MAFAT_AXIS_C] > 1) mafat_view_usual_axes(v->view.n_dims, axes);
}

static int concat_copies(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *const *in, int n, int dim)
{
  struct mafat_view to;
  long long dims[MAFAT_VIEW_DIMS], at = 0;
  int axes[MAFAT_VIEW_DIMS], code = MAFAT_OK;
  struct mafat_view_atom along = atom_along(in, n, dim);
  axes_apart(in[0], axes);
  if (along.size && in[0]->view.dims[dim] == 1) axes[dim] = along.axis;
  memcpy(dims, in[0]->view.dims, sizeof dims);
  dims[dim] = 0;
  for (int i = 0; i < n; i++) dims[dim] += in[i]->view.dims[dim];
  struct mafat_layer *l = mafat_graph_begin_copy(g, n, in[0]->view.n_dims, dims, axes, &to);
  if (!l) return MAFAT_EUNSUPPORTED;
  for (int i = 0; i < n && code == MAFAT_OK; at += in[i++]->view.dims[dim]) {
    struct mafat_view part = to;
    long long first[MAFAT_N_AXES] = {0};
    mafat_view_add(&to, dim, at, first);
    if (part.atoms_of[dim]) mafat_view_set_size(&part, dim, in[i]->view.dims[dim]);
    code = mafat_graph_add_copy(g, l, in[i], in[i]->view, part, mafat_graph_origin, first);
  }
  return code ? code : mafat_graph_end_copy(g, out, l, &to);
}

static int concat_numbers(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_value *const *in, int n, int dim)
{
  enum { MOST = 1 << 20 };
  long long dims[MAFAT_VIEW_DIMS], inner = 1, outer = 1, at = 0;
  memcpy(dims, in[0]->view.dims, sizeof dims);
  dims[dim] = 0;
  for (int i = 0; i < n; i++) dims[dim] += in[i]->view.dims[dim];
  for (int i = 0; i < in[0]->view.n_dims; i++)
    *(i < dim ? &outer : &inner) *= i == dim ? 1 : dims[i];
  int code = mafat_value_make_numbers(g, out, in[0]->view.n_dims, dims);
  for (int i = 0; i < n && code == MAFAT_OK; at += in[i++]->view.dims[dim]) {
    double *all;
    long long part = in[i]->view.dims[dim] * inner;
    if ((code = mafat_value_numbers(g, in[i], MOST, &all))) break;
    for (long long o = 0; o < outer; o++)
      memcpy(out->numbers + (o * dims[dim] + at) * inner, all + o * part,
             (size_t)part * sizeof *all);
    free(all);
  }
  return code;
}

/* Converts constants to maps with the layout of the first map. */
static int concat_mixed(struct mafat_graph *g, struct mafat_value *out,
                        const struct mafat_value *const *in, int n, int dim)
{
  struct mafat_value made[MAFAT_MAX_OPERANDS];
  const struct mafat_value *all[MAFAT_MAX_OPERANDS];
  int axes[MAFAT_VIEW_DIMS],
      first = 0,
      code = n <= MAFAT_MAX_OPERANDS
                 ? MAFAT_OK
                 : mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected at most %d inputs, found %d",
                                    MAFAT_MAX_OPERANDS, n);
  while (mafat_value_is_constant(in[first])) first++;
  mafat_graph_axes(in[first], axes);
  for (int i = 0; i < n && i < MAFAT_MAX_OPERANDS; i++) {
    made[i] = (struct mafat_value){.maker = -1};
    all[i] = mafat_value_is_constant(in[i]) ? &made[i] : in[i];
    if (code == MAFAT_OK && all[i] == &made[i])
      code = mafat_graph_constant_map(g, &made[i], in[i], axes);
  }
  if (code == MAFAT_OK) code = mafat_graph_concat(g, out, all, n, dim);
  for (int i = 0; i < n && i < MAFAT_MAX_OPERANDS; i++) mafat_value_clear(&made[i]);
  return code;
}

int mafat_graph_concat(struct mafat_graph *g, struct mafat_value *out,
                       const struct mafat_value *const *in, int n, int dim)
{
  bool maps = true, known = true, alike = true;
  for (int i = 0; i < n; i++) {
    if (in[i]->view.n_dims != in[0]->view.n_dims)
      return mafat_graph_fail(g, MAFAT_EFORMAT,
                              "input %d: expected as many dimensions as the first, %d, found %d", i,
                              in[0]->view.n_dims, in[i]->view.n_dims);
    for (int k = 0; k < in[0]->view.n_dims; k++)
      if (k != dim && in[i]->view.dims[k] != in[0]->view.dims[k])
        return mafat_graph_fail(g, MAFAT_EFORMAT,
                                "input %d: dimension %d: expected %lld as in the first, found %lld",
                                i, k, in[0]->view.dims[k], in[i]->view.dims[k]);
    maps = maps && in[i]->form == MAFAT_VALUE_MAP;
    known = known && mafat_value_is_constant(in[i]);
  }
  if (known) return concat_numbers(g, out, in, n, dim);
  if (!maps) return concat_mixed(g, out, in, n, dim);
  int code = mafat_value_copy(g, out, in[0]);
  struct mafat_view_atom along = atom_along(in, n, dim);
  if (n > 1) add_unit_atom(&out->view, dim, along);
  for (int i = 1; i < n && code == MAFAT_OK && alike; i++) {
    struct mafat_value next = *in[i];
    add_unit_atom(&next.view, dim, along);
    alike = can_join(g, out, &next, dim);
    if (alike) code = join(g, out, in[i], dim);
  }
  if (code || alike) return code;
  mafat_value_clear(out);
  return concat_copies(g, out, in, n, dim);
}
