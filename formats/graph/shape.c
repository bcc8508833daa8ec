#include "formats/graph/shape.h"

#include "formats/graph/places.h"

#include "network/sources.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- axes ---- */

void mafat_graph_usual_axes(int n_dims, int *axes)
{
  for (int i = 0; i < n_dims; i++)
    axes[i] = i == n_dims - 1 ? MAFAT_AXIS_C : i == n_dims - 2 ? MAFAT_AXIS_W : MAFAT_AXIS_H;
}

/* The axis of a dimension's innermost atom; of one without atoms, as dimensions usually lie. */
void mafat_graph_axes(const struct mafat_value *v, int *axes)
{
  mafat_graph_usual_axes(v->view.n_dims, axes);
  for (int i = 0, first = 0; i < v->view.n_dims; first += v->view.atoms_of[i++])
    if (v->view.atoms_of[i]) axes[i] = v->view.atoms[first + v->view.atoms_of[i] - 1].axis;
}

static bool fills(const struct mafat_shape *s, const long long extents[MAFAT_N_AXES])
{
  return s->h == extents[MAFAT_AXIS_H] && s->w == extents[MAFAT_AXIS_W] && s->c == extents[MAFAT_AXIS_C];
}

/* ---- one layer that copies ---- */

/* A layer that makes a map of these dimensions on these axes, of so many parts; its view. NULL: told. */
static struct mafat_layer *begin_rearrange(struct mafat_graph *g, int n_parts, int n_dims, const long long *dims,
                                           const int *axes, struct mafat_view *view)
{
  long long e[MAFAT_N_AXES];
  mafat_view_lay(view, n_dims, dims, axes, e);
  for (int a = 0; a < MAFAT_N_AXES; a++)
    if (e[a] > INT_MAX / 4) {
      mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "a map of %lld x %lld x %lld (height, width, channels) is too large",
                       e[0], e[1], e[2]);
      return NULL;
    }
  struct mafat_layer *l = mafat_graph_add_layer(g, MAFAT_REARRANGE);
  if (!l) return NULL;
  l->rearrange = calloc(1, sizeof *l->rearrange + (size_t)n_parts * sizeof *l->rearrange->parts);
  if (!l->rearrange) {
    mafat_graph_fail(g, MAFAT_ENOMEM, "out of memory");
    return NULL;
  }
  l->rearrange->shape = (struct mafat_shape){(int)e[MAFAT_AXIS_H], (int)e[MAFAT_AXIS_W], (int)e[MAFAT_AXIS_C]};
  return l;
}

/* One operand more: from where `from` has its elements to where `to` has them. Both have the same dimensions. */
static int add_part(struct mafat_graph *g, struct mafat_layer *l, const struct mafat_value *v, struct mafat_view from,
                    struct mafat_view to, const long long in_first[MAFAT_N_AXES],
                    const long long out_first[MAFAT_N_AXES])
{
  if (!mafat_view_refine(&from, &to) || from.n_atoms > MAFAT_MAX_ATOMS)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "its elements would be moved along more than %d axes",
                            MAFAT_MAX_ATOMS);
  struct mafat_part *p = &l->rearrange->parts[l->rearrange->n_parts++];
  p->n_atoms = from.n_atoms;
  for (int k = 0; k < from.n_atoms; k++)
    p->atoms[k] = (struct mafat_atom){(int)from.atoms[k].size, (signed char)to.atoms[k].axis, (int)to.atoms[k].step,
                                      (signed char)from.atoms[k].axis, (int)from.atoms[k].step};
  for (int a = 0; a < MAFAT_N_AXES; a++) p->in_first[a] = (int)in_first[a], p->out_first[a] = (int)out_first[a];
  return mafat_graph_add_operand(g, l, v);
}

static const long long nowhere[MAFAT_N_AXES];

static int end_rearrange(struct mafat_graph *g, struct mafat_value *out, struct mafat_layer *l,
                         const struct mafat_view *view)
{
  int code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output(g, out, l, view);
}

int mafat_graph_lay(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, const int *axes)
{
  struct mafat_view to;
  long long e[MAFAT_N_AXES];
  mafat_view_lay(&to, in->view.n_dims, in->view.dims, axes, e);
  if (mafat_view_equals(&to, &in->view) && fills(&in->shape, e)) {
    int code = mafat_value_copy(g, out, in);
    out->view = to;
    return code;
  }
  struct mafat_layer *l = begin_rearrange(g, 1, in->view.n_dims, in->view.dims, axes, &to);
  int code = l ? add_part(g, l, in, in->view, to, nowhere, nowhere) : MAFAT_EUNSUPPORTED;
  return code ? code : end_rearrange(g, out, l, &to);
}

/* ---- views ---- */

/* Where dimensions cannot be cut as they lie, all elements are laid behind each other first. */
static int reshape_flat(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int n_dims,
                        const long long *dims)
{
  int axes[MAFAT_VIEW_DIMS];
  for (int i = 0; i < in->view.n_dims; i++) axes[i] = MAFAT_AXIS_C;
  long long all = mafat_value_elements(in);
  int code = mafat_graph_lay(g, out, in, axes);
  if (code == MAFAT_OK) mafat_view_linear(&out->view, 1, &all, MAFAT_AXIS_C);
  if (code == MAFAT_OK && !mafat_view_reshape(&out->view, &out->view, n_dims, dims))
    code = mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "cannot be given these dimensions");
  return code;
}

int mafat_graph_reshape(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int n_dims,
                        const long long *dims)
{
  struct mafat_view view;
  long long n = 1;
  for (int i = 0; i < n_dims; i++)
    if (dims[i] < 1 || __builtin_mul_overflow(n, dims[i], &n))
      return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected dimensions of at least 1, found %lld", dims[i]);
  if (n != mafat_value_elements(in))
    return mafat_graph_fail(g, MAFAT_EFORMAT, "expected dimensions of %lld elements, found %lld",
                            mafat_value_elements(in), n);
  if (!mafat_view_reshape(&view, &in->view, n_dims, dims)) return reshape_flat(g, out, in, n_dims, dims);
  int code = mafat_value_copy(g, out, in);
  out->view = view;
  return code;
}

/* Numbers that are known lie in row-major order. */
static int settle_numbers(struct mafat_graph *g, struct mafat_value *v)
{
  if (v->form != MAFAT_VALUE_NUMBERS) return MAFAT_OK;
  double *numbers;
  int code = mafat_value_numbers(g, v, LLONG_MAX, &numbers);
  if (code) return code;
  free(v->numbers);
  v->numbers = numbers;
  mafat_view_linear(&v->view, v->view.n_dims, v->view.dims, MAFAT_AXIS_NUMBERS);
  return MAFAT_OK;
}

int mafat_graph_transpose(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                          const int *order)
{
  int code = mafat_value_copy(g, out, in);
  if (code) return code;
  mafat_view_transpose(&out->view, &in->view, order);
  return settle_numbers(g, out);
}

/* ---- slices ---- */

/* The only atom of a dimension, where it is the outermost one of its axis: a part of the dimension is a part of the
 * map. */
static struct mafat_view_atom *outermost(struct mafat_value *v, int dim)
{
  if (v->form != MAFAT_VALUE_MAP || v->view.atoms_of[dim] != 1) return NULL;
  struct mafat_view_atom *atom = &v->view.atoms[mafat_view_first_atom(&v->view, dim)];
  long long extent = atom->axis == MAFAT_AXIS_H ? v->shape.h : atom->axis == MAFAT_AXIS_C ? v->shape.c : -1;
  return atom->step * atom->size == extent ? atom : NULL;
}

/* An atom of 1 is none. */
static void set_size(struct mafat_view *view, int dim, long long n)
{
  int first = mafat_view_first_atom(view, dim);
  view->dims[dim] = n;
  view->atoms[first].size = n;
  if (n > 1) return;
  memmove(&view->atoms[first], &view->atoms[first + 1], (size_t)(view->n_atoms - first - 1) * sizeof *view->atoms);
  view->n_atoms--;
  view->atoms_of[dim] = 0;
}

static int slice_part(struct mafat_graph *g, struct mafat_value *v, int dim, struct mafat_view_atom atom,
                      long long first, long long n)
{
  struct mafat_sources part = {0};
  struct mafat_span rows = {0, v->shape.h}, channels = {0, v->shape.c};
  struct mafat_span span = {(int)(first * atom.step), (int)((first + n) * atom.step)};
  *(atom.axis == MAFAT_AXIS_H ? &rows : &channels) = span;
  int code = mafat_sources_part(&part, &v->sources, rows, channels);
  if (code) return mafat_graph_fail(g, code, "its map would consist of too many parts");
  free(v->sources.list);
  v->sources = part;
  v->shape.h = mafat_span_size(rows);
  v->shape.c = mafat_span_size(channels);
  v->maker = -1;
  set_size(&v->view, dim, n);
  return MAFAT_OK;
}

static int slice_numbers(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int dim,
                         long long first, long long n, long long step)
{
  enum { MOST = 1 << 22 };
  double *all;
  long long dims[MAFAT_VIEW_DIMS], inner = 1, outer = 1, whole = in->view.dims[dim];
  int code = mafat_value_numbers(g, in, MOST, &all);
  if (code) return code;
  for (int i = 0; i < in->view.n_dims; i++) {
    dims[i] = i == dim ? n : in->view.dims[i];
    *(i < dim ? &outer : &inner) *= i == dim ? 1 : dims[i];
  }
  code = mafat_value_make_numbers(g, out, in->view.n_dims, dims);
  for (long long o = 0; code == MAFAT_OK && o < outer; o++)
    for (long long i = 0; i < n; i++)
      memcpy(out->numbers + (o * n + i) * inner, all + (o * whole + first + i * step) * inner,
             (size_t)inner * sizeof *all);
  free(all);
  return code;
}

static int slice_copy(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int dim,
                      long long first, long long n, long long step)
{
  struct mafat_view to, from = in->view;
  long long dims[MAFAT_VIEW_DIMS], in_first[MAFAT_N_AXES] = {0};
  int axes[MAFAT_VIEW_DIMS];
  mafat_graph_axes(in, axes);
  memcpy(dims, in->view.dims, sizeof dims);
  dims[dim] = n;
  mafat_view_add(&from, dim, first, in_first);
  if (from.atoms_of[dim]) {
    from.atoms[mafat_view_first_atom(&from, dim)].step *= step;
    set_size(&from, dim, n);
  }
  struct mafat_layer *l = begin_rearrange(g, 1, from.n_dims, dims, axes, &to);
  int code = l ? add_part(g, l, in, from, to, in_first, nowhere) : MAFAT_EUNSUPPORTED;
  return code ? code : end_rearrange(g, out, l, &to);
}

int mafat_graph_slice(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, int dim,
                      long long first, long long n, long long step)
{
  if (n == 1) step = 1; /* it may be larger than anything */
  if (in->form != MAFAT_VALUE_MAP) return slice_numbers(g, out, in, dim, first, n, step);
  if (n == in->view.dims[dim] && step == 1) return mafat_value_copy(g, out, in);
  int code = mafat_value_copy(g, out, in);
  struct mafat_view_atom *atom = code ? NULL : outermost(out, dim);
  if (code) return code;
  if (atom && (step == 1 || n == 1)) return slice_part(g, out, dim, *atom, first, n);
  mafat_value_clear(out);
  if (in->view.atoms_of[dim] < 2) return slice_copy(g, out, in, dim, first, n, step);
  struct mafat_value laid = {.maker = -1};
  int axes[MAFAT_VIEW_DIMS];
  mafat_graph_axes(in, axes);
  code = mafat_graph_lay(g, &laid, in, axes);
  if (code == MAFAT_OK) code = mafat_graph_slice(g, out, &laid, dim, first, n, step);
  mafat_value_clear(&laid);
  return code;
}

/* ---- behind each other ---- */

/* As they lie, but for the size along a dimension that is the outermost of its axis in both. */
static bool lie_alike(struct mafat_value *a, struct mafat_value *b, int dim)
{
  const struct mafat_view_atom *x = outermost(a, dim), *y = outermost(b, dim);
  if (!x || !y || x->axis != y->axis || x->step != y->step) return false;
  struct mafat_view v = a->view, w = b->view;
  set_size(&v, dim, 1);
  set_size(&w, dim, 1);
  bool rows = x->axis == MAFAT_AXIS_H;
  bool same = a->shape.w == b->shape.w && (rows ? a->shape.c == b->shape.c : a->shape.h == b->shape.h);
  /* Bands are to be cut into slices alike: where that is not plain, they are copied. */
  bool plain =
      !rows || (a->sources.n == 1 && b->sources.n == 1 && a->sources.list->first == 0 && b->sources.list->first == 0);
  return same && plain && mafat_view_equals(&v, &w);
}

static int join(struct mafat_graph *g, struct mafat_value *to, const struct mafat_value *more, int dim)
{
  struct mafat_view_atom *atom = outermost(to, dim);
  bool rows = atom->axis == MAFAT_AXIS_H;
  int code = rows ? mafat_sources_join_rows(&to->sources, &more->sources)
                  : mafat_sources_join_channels(&to->sources, &more->sources);
  if (code) return mafat_graph_fail(g, code, "its map would consist of too many parts");
  *(rows ? &to->shape.h : &to->shape.c) += rows ? more->shape.h : more->shape.c;
  to->view.dims[dim] += more->view.dims[dim];
  atom->size += more->view.dims[dim];
  to->maker = -1;
  return MAFAT_OK;
}

static int concat_copies(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *const *in, int n,
                         int dim)
{
  struct mafat_view to;
  long long dims[MAFAT_VIEW_DIMS], at = 0;
  int axes[MAFAT_VIEW_DIMS], code = MAFAT_OK;
  mafat_graph_axes(in[0], axes);
  memcpy(dims, in[0]->view.dims, sizeof dims);
  dims[dim] = 0;
  for (int i = 0; i < n; i++) dims[dim] += in[i]->view.dims[dim];
  struct mafat_layer *l = begin_rearrange(g, n, in[0]->view.n_dims, dims, axes, &to);
  if (!l) return MAFAT_EUNSUPPORTED;
  for (int i = 0; i < n && code == MAFAT_OK; at += in[i++]->view.dims[dim]) {
    struct mafat_view part = to;
    long long first[MAFAT_N_AXES] = {0};
    mafat_view_add(&to, dim, at, first);
    if (part.atoms_of[dim]) set_size(&part, dim, in[i]->view.dims[dim]);
    code = add_part(g, l, in[i], in[i]->view, part, nowhere, first);
  }
  return code ? code : end_rearrange(g, out, l, &to);
}

static int concat_numbers(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *const *in, int n,
                          int dim)
{
  enum { MOST = 1 << 20 };
  long long dims[MAFAT_VIEW_DIMS], inner = 1, outer = 1, at = 0;
  memcpy(dims, in[0]->view.dims, sizeof dims);
  dims[dim] = 0;
  for (int i = 0; i < n; i++) dims[dim] += in[i]->view.dims[dim];
  for (int i = 0; i < in[0]->view.n_dims; i++) *(i < dim ? &outer : &inner) *= i == dim ? 1 : dims[i];
  int code = mafat_value_make_numbers(g, out, in[0]->view.n_dims, dims);
  for (int i = 0; i < n && code == MAFAT_OK; at += in[i++]->view.dims[dim]) {
    double *all;
    long long part = in[i]->view.dims[dim] * inner;
    if ((code = mafat_value_numbers(g, in[i], MOST, &all))) break;
    for (long long o = 0; o < outer; o++)
      memcpy(out->numbers + (o * dims[dim] + at) * inner, all + o * part, (size_t)part * sizeof *all);
    free(all);
  }
  return code;
}

/* Constants become maps that lie as the first of the others does. */
static int concat_mixed(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *const *in, int n,
                        int dim)
{
  struct mafat_value made[MAFAT_MAX_OPERANDS];
  const struct mafat_value *all[MAFAT_MAX_OPERANDS];
  int axes[MAFAT_VIEW_DIMS],
      first = 0,
      code = n <= MAFAT_MAX_OPERANDS ? MAFAT_OK
                                     : mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "expected at most %d inputs, found %d",
                                                        MAFAT_MAX_OPERANDS, n);
  while (mafat_value_is_constant(in[first])) first++;
  mafat_graph_axes(in[first], axes);
  for (int i = 0; i < n && i < MAFAT_MAX_OPERANDS; i++) {
    made[i] = (struct mafat_value){.maker = -1};
    all[i] = mafat_value_is_constant(in[i]) ? &made[i] : in[i];
    if (code == MAFAT_OK && all[i] == &made[i]) code = mafat_graph_constant_map(g, &made[i], in[i], axes);
  }
  if (code == MAFAT_OK) code = mafat_graph_concat(g, out, all, n, dim);
  for (int i = 0; i < n && i < MAFAT_MAX_OPERANDS; i++) mafat_value_clear(&made[i]);
  return code;
}

int mafat_graph_concat(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *const *in, int n,
                       int dim)
{
  bool maps = true, known = true, alike = true;
  for (int i = 0; i < n; i++) {
    if (in[i]->view.n_dims != in[0]->view.n_dims)
      return mafat_graph_fail(g, MAFAT_EFORMAT, "input %d has other dimensions than the first", i);
    for (int k = 0; k < in[0]->view.n_dims; k++)
      if (k != dim && in[i]->view.dims[k] != in[0]->view.dims[k])
        return mafat_graph_fail(g, MAFAT_EFORMAT, "dimension %d of input %d is %lld, of the first %lld", k, i,
                                in[i]->view.dims[k], in[0]->view.dims[k]);
    maps = maps && in[i]->form == MAFAT_VALUE_MAP;
    known = known && mafat_value_is_constant(in[i]);
  }
  if (known) return concat_numbers(g, out, in, n, dim);
  if (!maps) return concat_mixed(g, out, in, n, dim);
  int code = mafat_value_copy(g, out, in[0]);
  for (int i = 1; i < n && code == MAFAT_OK && alike; i++) {
    struct mafat_value next = *in[i];
    alike = lie_alike(out, &next, dim);
    if (alike) code = join(g, out, in[i], dim);
  }
  if (code || alike) return code;
  mafat_value_clear(out);
  return concat_copies(g, out, in, n, dim);
}

/* ---- pads, and the same again ---- */

int mafat_graph_pad(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                    const long long *before, const long long *after, enum mafat_outside outside, float fill)
{
  struct mafat_value laid = {.maker = -1};
  struct mafat_view to, from;
  long long dims[MAFAT_VIEW_DIMS], in_first[MAFAT_N_AXES] = {0}, steps[MAFAT_VIEW_DIMS], e[MAFAT_N_AXES] = {1, 1, 1};
  int axes[MAFAT_VIEW_DIMS], n = in->view.n_dims;
  mafat_graph_axes(in, axes);
  int code = mafat_graph_lay(g, &laid, in, axes);
  if (code) return code;
  for (int i = n; i-- > 0; e[axes[i]] *= laid.view.dims[i]) {
    steps[i] = e[axes[i]];
    dims[i] = laid.view.dims[i] + before[i] + after[i];
    bool padded = before[i] || after[i],
         alone = steps[i] * laid.view.dims[i] == (axes[i] == MAFAT_AXIS_H   ? laid.shape.h
                                                  : axes[i] == MAFAT_AXIS_W ? laid.shape.w
                                                                            : laid.shape.c);
    if (dims[i] < 1) code = mafat_graph_fail(g, MAFAT_EFORMAT, "nothing of dimension %d would be left", i);
    if (padded && !(alone && steps[i] == 1))
      code = mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "pads dimension %d, which shares an axis with others", i);
    in_first[axes[i]] -= before[i] * steps[i];
  }
  struct mafat_layer *l = code ? NULL : begin_rearrange(g, 1, n, dims, axes, &to);
  if (!code && !l) code = MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK) {
    from = to; /* the same steps along axes that hold one dimension alone; those of others are not padded */
    for (int i = 0; i < n; i++)
      if (from.atoms_of[i]) from.atoms[mafat_view_first_atom(&from, i)].step = steps[i];
    l->rearrange->fill = fill;
    l->rearrange->parts[0].outside = outside;
    code = add_part(g, l, &laid, from, to, in_first, nowhere);
  }
  if (code == MAFAT_OK) code = end_rearrange(g, out, l, &to);
  mafat_value_clear(&laid);
  return code;
}

int mafat_graph_expand(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const long long *dims)
{
  static const long long MOST = 1LL << 40;
  struct mafat_view to, from = {.n_dims = in->view.n_dims};
  int axes[MAFAT_VIEW_DIMS], next = 0;
  long long all = 1;
  for (int i = 0; i < in->view.n_dims; i++)
    if (__builtin_mul_overflow(all, dims[i], &all) || all > MOST)
      return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "dimension %d of %lld: a map of so many elements is too large", i,
                              dims[i]);
  mafat_graph_axes(in, axes);
  for (int i = 0; i < in->view.n_dims; i++) {
    from.dims[i] = dims[i];
    from.atoms_of[i] = in->view.atoms_of[i];
    for (int k = 0; k < in->view.atoms_of[i]; k++) from.atoms[from.n_atoms++] = in->view.atoms[next++];
    if (dims[i] == in->view.dims[i]) continue;
    if (in->view.dims[i] != 1)
      return mafat_graph_fail(g, MAFAT_EFORMAT, "dimension %d of %lld cannot become %lld", i, in->view.dims[i],
                              dims[i]);
    from.atoms_of[i] = 1;
    from.atoms[from.n_atoms++] = (struct mafat_view_atom){.size = dims[i], .step = 0, .axis = axes[i]};
  }
  struct mafat_layer *l = begin_rearrange(g, 1, in->view.n_dims, dims, axes, &to);
  int code = l ? add_part(g, l, in, from, to, nowhere, nowhere) : MAFAT_EUNSUPPORTED;
  return code ? code : end_rearrange(g, out, l, &to);
}
