/* Reshapes, transposes, slices, splits, pads and expands values. Called by formats/graph and by the
 * importers in formats/onnx and formats/tflite. Changes views, and adds copy layers to the graph if
 * necessary. Reads constants from the model file; allocates memory of the values and layers. */
#include "formats/graph/shape.h"

#include "formats/graph/compute.h"
#include "formats/graph/copying.h"
#include "network/sources.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- axes ---- */

/* Returns the axis of each dimension's innermost atom; the default axis if it has no atom. */
void mafat_graph_axes(const struct mafat_value *v, int *axes)
{
  mafat_view_usual_axes(v->view.n_dims, axes);
  for (int i = 0, first = 0; i < v->view.n_dims; first += v->view.atoms_of[i++])
    if (v->view.atoms_of[i]) axes[i] = v->view.atoms[first + v->view.atoms_of[i] - 1].axis;
}

static bool fills(const struct mafat_shape *s, const long long extents[MAFAT_N_AXES])
{
  return s->h == extents[MAFAT_AXIS_H] && s->w == extents[MAFAT_AXIS_W] &&
         s->c == extents[MAFAT_AXIS_C];
}

int mafat_graph_lay(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                    const int *axes)
{
  struct mafat_view to;
  long long e[MAFAT_N_AXES];
  mafat_view_lay(&to, in->view.n_dims, in->view.dims, axes, e);
  if (mafat_view_equals(&to, &in->view) && fills(&in->shape, e)) {
    int code = mafat_value_copy(g, out, in);
    out->view = to;
    return code;
  }
  struct mafat_layer *l = mafat_graph_begin_copy(g, 1, in->view.n_dims, in->view.dims, axes, &to);
  int code =
      l ? mafat_graph_add_copy(g, l, in, in->view, to, mafat_graph_origin, mafat_graph_origin)
        : MAFAT_EUNSUPPORTED;
  return code ? code : mafat_graph_end_copy(g, out, l, &to);
}

/* ---- views ---- */

/* Reshapes after copying all elements to channels, row-major, which can be viewed in any shape. */
static int reshape_flat(struct mafat_graph *g, struct mafat_value *out,
                        const struct mafat_value *in, int n_dims, const long long *dims)
{
  int axes[MAFAT_VIEW_DIMS];
  for (int i = 0; i < in->view.n_dims; i++) axes[i] = MAFAT_AXIS_C;
  long long all = mafat_value_elements(in);
  int code = mafat_graph_lay(g, out, in, axes);
  if (code == MAFAT_OK) mafat_view_linear(&out->view, 1, &all, MAFAT_AXIS_C);
  if (code == MAFAT_OK && !mafat_view_reshape(&out->view, &out->view, n_dims, dims))
    code = mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "cannot be reshaped to these dimensions");
  return code;
}

int mafat_graph_reshape(struct mafat_graph *g, struct mafat_value *out,
                        const struct mafat_value *in, int n_dims, const long long *dims)
{
  struct mafat_view view;
  long long n = 1;
  for (int i = 0; i < n_dims; i++)
    if (dims[i] < 1 || __builtin_mul_overflow(n, dims[i], &n))
      return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                              "expected dimensions of at least 1, found %lld", dims[i]);
  if (n != mafat_value_elements(in))
    return mafat_graph_fail(g, MAFAT_EFORMAT, "expected dimensions of %lld elements, found %lld",
                            mafat_value_elements(in), n);
  if (!mafat_view_reshape(&view, &in->view, n_dims, dims))
    return reshape_flat(g, out, in, n_dims, dims);
  int code = mafat_value_copy(g, out, in);
  out->view = view;
  return code;
}

int mafat_graph_reshape_open(struct mafat_graph *g, struct mafat_value *out,
                             const struct mafat_value *in, int n_dims, const long long *dims)
{
  long long closed[MAFAT_VIEW_DIMS], known = 1, all = mafat_value_elements(in);
  int open = -1;
  for (int k = 0; k < n_dims; k++) {
    closed[k] = dims[k];
    if (dims[k] == -1 && open < 0) open = k;
    else if (dims[k] < 1 || __builtin_mul_overflow(known, dims[k], &known))
      return mafat_graph_fail(g, MAFAT_EFORMAT,
                              "dimension %d: expected at least 1, or one -1, found %lld", k,
                              dims[k]);
  }
  if (open >= 0 && all % known)
    return mafat_graph_fail(g, MAFAT_EFORMAT, "cannot divide %lld elements by %lld", all, known);
  if (open >= 0) closed[open] = all / known;
  return mafat_graph_reshape(g, out, in, n_dims, closed);
}

/* Reorders the values of a constant in memory to row-major, as MAFAT_VALUE_NUMBERS requires. */
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

int mafat_graph_transpose(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_value *in, const int *order)
{
  int code = mafat_value_copy(g, out, in);
  if (code) return code;
  mafat_view_transpose(&out->view, &in->view, order);
  return settle_numbers(g, out);
}

/* ---- slices ---- */

/* Slices without a copy: keeps only the sources of these rows or channels. */
static int slice_part(struct mafat_graph *g, struct mafat_value *v, int dim,
                      struct mafat_view_atom atom, long long first, long long n)
{
  struct mafat_sources part = {0};
  struct mafat_span rows = {0, v->shape.h}, channels = {0, v->shape.c};
  struct mafat_span span = {(int)(first * atom.step), (int)((first + n) * atom.step)};
  *(atom.axis == MAFAT_AXIS_H ? &rows : &channels) = span;
  int code = mafat_graph_cut_sources(g, mafat_sources_count(&v->sources));
  if (code) return code;
  code = mafat_sources_part(&part, &v->sources, rows, channels);
  if (code) return mafat_graph_fail(g, code, "the map would consist of too many parts");
  free(v->sources.list);
  v->sources = part;
  v->shape.h = mafat_span_size(rows);
  v->shape.c = mafat_span_size(channels);
  v->maker = -1;
  mafat_view_set_size(&v->view, dim, n);
  return MAFAT_OK;
}

static int slice_numbers(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, int dim, long long first, long long n,
                         long long step)
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

static int slice_copy(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                      int dim, long long first, long long n, long long step)
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
    mafat_view_set_size(&from, dim, n);
  }
  struct mafat_layer *l;
  long long extents[MAFAT_N_AXES];
  mafat_view_lay(&to, from.n_dims, dims, axes, extents);
  int code = mafat_graph_copy_again(g, &l, in, from, &to, axes, in_first);
  if (code == MAFAT_OK && !l) {
    l = mafat_graph_begin_copy(g, 1, from.n_dims, dims, axes, &to);
    code = l ? mafat_graph_add_copy(g, l, in, from, to, in_first, mafat_graph_origin)
             : MAFAT_EUNSUPPORTED;
  }
  return code ? code : mafat_graph_end_copy(g, out, l, &to);
}

int mafat_graph_slice(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                      int dim, long long first, long long n, long long step)
{
  if (n == 1) step = 1; /* the step may be huge */
  if (in->form != MAFAT_VALUE_MAP) return slice_numbers(g, out, in, dim, first, n, step);
  if (n == in->view.dims[dim] && step == 1) return mafat_value_copy(g, out, in);
  int code = mafat_value_copy(g, out, in);
  struct mafat_view_atom *atom = code ? NULL : mafat_value_outermost(out, dim);
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

/* ---- several slices ---- */

/* True if a slice along the dimension can be a view. */
static bool is_view(const struct mafat_value *in, int dim)
{
  struct mafat_value v = *in;
  return mafat_value_outermost(&v, dim) != NULL;
}

/* Sets `part` of a split layer to copy one slice; *to becomes the view of the slice's map. */
static int set_output(struct mafat_graph *g, struct mafat_part *part, const struct mafat_value *in,
                      int dim, long long first, long long n, const int *axes, struct mafat_view *to)
{
  struct mafat_view from = in->view;
  long long dims[MAFAT_VIEW_DIMS], extents[MAFAT_N_AXES], in_first[MAFAT_N_AXES] = {0};
  memcpy(dims, in->view.dims, sizeof dims);
  dims[dim] = n;
  mafat_view_add(&from, dim, first, in_first);
  mafat_view_set_size(&from, dim, n);
  mafat_view_lay(to, from.n_dims, dims, axes, extents);
  return mafat_graph_set_copy(g, part, from, *to, in_first, mafat_graph_origin);
}

static int split_copy(struct mafat_graph *g, struct mafat_value *const *outs,
                      const struct mafat_value *in, int dim, const long long *sizes, int n,
                      int n_wanted)
{
  int axes[MAFAT_VIEW_DIMS], code = MAFAT_OK;
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_SPLIT, in);
  struct mafat_view *views = calloc((size_t)n_wanted, sizeof *views);
  if (l && views)
    l->rearrange = calloc(1, sizeof *l->rearrange + (size_t)n_wanted * sizeof *l->rearrange->parts);
  if (!l || !views || !l->rearrange) code = mafat_graph_fail_memory(g);
  mafat_graph_axes(in, axes);
  long long first = 0;
  for (int k = 0; k < n && code == MAFAT_OK; first += sizes[k++]) {
    int at = l->rearrange->n_parts;
    if (!outs[k]) continue;
    code = set_output(g, &l->rearrange->parts[at], in, dim, first, sizes[k], axes, &views[at]);
    l->rearrange->n_parts++;
  }
  if (code == MAFAT_OK) code = mafat_graph_end_layer(g, l);
  for (int k = 0, made = 0; k < n && code == MAFAT_OK; k++)
    if (outs[k]) code = mafat_graph_output_of(g, outs[k], l, made, &views[made]), made++;
  free(views);
  return code;
}

int mafat_graph_split(struct mafat_graph *g, struct mafat_value *const *outs,
                      const struct mafat_value *in, int dim, const long long *sizes, int n)
{
  const struct mafat_value again = mafat_value_again(in);
  int n_wanted = 0, code = MAFAT_OK;
  for (int k = 0; k < n; k++) n_wanted += outs[k] != NULL;
  bool copied = in->form == MAFAT_VALUE_MAP && n_wanted > 1 && in->view.atoms_of[dim] == 1 &&
                !is_view(in, dim);
  if (copied) return split_copy(g, outs, in, dim, sizes, n, n_wanted);
  long long first = 0;
  for (int k = 0; k < n && code == MAFAT_OK; first += sizes[k++])
    if (outs[k]) code = mafat_graph_slice(g, outs[k], &again, dim, first, sizes[k], 1);
  return code;
}

/* ---- padding and expanding ---- */

/* True if a padded dimension shares its axis with another one that has, or gets, more than one
 * index. */
static bool shares_axis(const struct mafat_view *v, const int *axes, const long long *before,
                        const long long *after)
{
  for (int i = 0; i < v->n_dims; i++)
    for (int k = 0; k < v->n_dims; k++)
      if (k != i && axes[k] == axes[i] && (before[i] || after[i]) &&
          (v->dims[k] > 1 || before[k] || after[k]))
        return true;
  return false;
}

int mafat_graph_pad(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                    const long long *before, const long long *after, enum mafat_outside outside,
                    float fill)
{
  struct mafat_value laid = {.maker = -1};
  struct mafat_view to, from;
  long long dims[MAFAT_VIEW_DIMS], in_first[MAFAT_N_AXES] = {0}, steps[MAFAT_VIEW_DIMS],
                                   e[MAFAT_N_AXES] = {1, 1, 1};
  int axes[MAFAT_VIEW_DIMS], n = in->view.n_dims;
  mafat_graph_axes(in, axes);
  if (shares_axis(&in->view, axes, before, after)) mafat_view_usual_axes(n, axes);
  bool shares = shares_axis(&in->view, axes, before, after);
  int code = mafat_graph_lay(g, &laid, in, axes);
  if (code) return code;
  for (int i = n; i-- > 0; e[axes[i]] *= laid.view.dims[i]) {
    steps[i] = e[axes[i]];
    dims[i] = laid.view.dims[i] + before[i] + after[i];
    if (dims[i] < 1)
      code = mafat_graph_fail(g, MAFAT_EFORMAT, "dimension %d would have no elements", i);
    if (shares && (before[i] || after[i]))
      code = mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                              "pads dimension %d, which shares an axis with others", i);
    in_first[axes[i]] -= before[i] * steps[i];
  }
  struct mafat_layer *l = code ? NULL : mafat_graph_begin_copy(g, 1, n, dims, axes, &to);
  if (!code && !l) code = MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK) {
    from = to; /* axes with a single dimension keep their steps; axes with several are not padded */
    for (int i = 0; i < n; i++)
      if (from.atoms_of[i]) from.atoms[mafat_view_first_atom(&from, i)].step = steps[i];
    l->rearrange->fill = fill;
    l->rearrange->parts[0].outside = outside;
    code = mafat_graph_add_copy(g, l, &laid, from, to, in_first, mafat_graph_origin);
  }
  if (code == MAFAT_OK) code = mafat_graph_end_copy(g, out, l, &to);
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
  for (int i = 0; i < in->view.n_dims; i++) {
    if (dims[i] < 1)
      return mafat_graph_fail(g, MAFAT_EFORMAT, "dimension %d cannot become %lld", i, dims[i]);
    if (__builtin_mul_overflow(all, dims[i], &all) || all > MOST)
      return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                              "dimension %d (size %lld): the map would have too many elements", i,
                              dims[i]);
  }
  mafat_graph_axes(in, axes);
  for (int i = 0; i < in->view.n_dims; i++) {
    from.dims[i] = dims[i];
    from.atoms_of[i] = in->view.atoms_of[i];
    for (int k = 0; k < in->view.atoms_of[i]; k++)
      from.atoms[from.n_atoms++] = in->view.atoms[next++];
    if (dims[i] == in->view.dims[i]) continue;
    if (in->view.dims[i] != 1)
      return mafat_graph_fail(g, MAFAT_EFORMAT, "dimension %d (size %lld) cannot become %lld", i,
                              in->view.dims[i], dims[i]);
    if (from.n_atoms == MAFAT_VIEW_ATOMS - (in->view.n_atoms - next))
      return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                              "expected at most %d strided dimensions, found more",
                              MAFAT_VIEW_ATOMS);
    from.atoms_of[i] = 1;
    from.atoms[from.n_atoms++] =
        (struct mafat_view_atom){.size = dims[i], .step = 0, .axis = axes[i]};
  }
  struct mafat_layer *l = mafat_graph_begin_copy(g, 1, in->view.n_dims, dims, axes, &to);
  int code = l ? mafat_graph_add_copy(g, l, in, from, to, mafat_graph_origin, mafat_graph_origin)
               : MAFAT_EUNSUPPORTED;
  return code ? code : mafat_graph_end_copy(g, out, l, &to);
}
