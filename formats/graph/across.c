/* Adds layers for normalizations, reductions, top k, gather and resizing. Called by the importers
 * in formats/onnx and formats/tflite. Allocates layers in the graph. */
#include "formats/graph/across.h"

#include "formats/graph/compute.h"
#include "formats/graph/shape.h"
#include "network/resample.h"

#include <stdlib.h>
#include <string.h>

/* Assigns the selected dimensions (`over`) to channels, and the others to columns and rows. */
static void separate_axes(const struct mafat_value *in, const bool *over, int *axes)
{
  int next = MAFAT_AXIS_W;
  for (int k = in->view.n_dims; k-- > 0;) {
    axes[k] = over[k] ? MAFAT_AXIS_C : next;
    if (!over[k] && in->view.dims[k] > 1) next = MAFAT_AXIS_H;
  }
}

/* True if the map's dimensions are on these axes, and no axis has both selected and other
 * dimensions. Dimensions of size 1 do not count. */
static bool are_separate(const struct mafat_value *in, const bool *over, const int *axes)
{
  struct mafat_view v;
  long long e[MAFAT_N_AXES];
  mafat_view_lay(&v, in->view.n_dims, in->view.dims, axes, e);
  if (!mafat_view_equals(&v, &in->view)) return false;
  for (int a = 0; a < in->view.n_dims; a++)
    for (int b = 0; b < in->view.n_dims; b++)
      if (over[a] && !over[b] && in->view.dims[a] > 1 && in->view.dims[b] > 1 && axes[a] == axes[b])
        return false;
  return true;
}

/* ---- normalization ---- */

/* True if the selected dimensions, and no others, are on channels. The order of pixels does not
 * matter. */
static bool is_over_channels(const struct mafat_value *in, const bool *over)
{
  const struct mafat_view_atom *atom = in->view.atoms;
  for (int k = 0; k < in->view.n_dims; k++)
    for (int i = 0; i < in->view.atoms_of[k]; i++, atom++)
      if (over[k] != (atom->axis == MAFAT_AXIS_C)) return false;
  return true;
}

/* Copies the map, if necessary, to a layout with the selected dimensions on channels. */
static int lay_over_channels(struct mafat_graph *g, struct mafat_value *out,
                             const struct mafat_value *in, const bool *over)
{
  int axes[MAFAT_VIEW_DIMS];
  if (is_over_channels(in, over)) return mafat_value_copy(g, out, in);
  separate_axes(in, over, axes);
  return mafat_graph_lay(g, out, in, axes);
}

/* Makes maps of constants that have one value per channel. */
static int make_numbers(struct mafat_graph *g, struct mafat_value *made,
                        const struct mafat_value *const *numbers, int n)
{
  static const int axes[] = {MAFAT_AXIS_C};
  int code = MAFAT_OK;
  for (int k = 0; k < n && code == MAFAT_OK; k++)
    code = mafat_graph_constant_map(g, &made[k], numbers[k], axes);
  return code;
}

static int normalize(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *laid,
                     const struct mafat_value *numbers, int n, struct mafat_normalize how)
{
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_NORMALIZE, laid);
  int code = l ? MAFAT_OK : MAFAT_EUNSUPPORTED;
  for (int k = 0; k < n && code == MAFAT_OK; k++) code = mafat_graph_add_operand(g, l, &numbers[k]);
  if (code == MAFAT_OK && !(l->normalize = malloc(sizeof *l->normalize)))
    code = mafat_graph_fail_memory(g);
  if (code == MAFAT_OK) {
    *l->normalize = how;
    code = mafat_graph_end_layer(g, l);
  }
  return code ? code : mafat_graph_output(g, out, l, &laid->view);
}

int mafat_graph_normalize_over(struct mafat_graph *g, struct mafat_value *out,
                               const struct mafat_value *in, const bool *over,
                               struct mafat_normalize how)
{
  return mafat_graph_normalize_scaled(g, out, in, over, how, NULL, 0);
}

int mafat_graph_normalize_scaled(struct mafat_graph *g, struct mafat_value *out,
                                 const struct mafat_value *in, const bool *over,
                                 struct mafat_normalize how,
                                 const struct mafat_value *const *numbers, int n)
{
  struct mafat_value laid = {.maker = -1},
                     made[MAFAT_GRAPH_SCALED] = {{.maker = -1}, {.maker = -1}};
  int code = lay_over_channels(g, &laid, in, over);
  if (code == MAFAT_OK) code = make_numbers(g, made, numbers, n);
  if (code == MAFAT_OK) code = normalize(g, out, &laid, made, n, how);
  for (int k = 0; k < n; k++) mafat_value_clear(&made[k]);
  mafat_value_clear(&laid);
  return code;
}

/* ---- reduction ---- */

static int end_reduce(struct mafat_graph *g, struct mafat_value *out, const struct mafat_layer *l,
                      const struct mafat_value *laid, const bool *over, const int *axes, bool keep)
{
  long long e[MAFAT_N_AXES], dims[MAFAT_VIEW_DIMS];
  struct mafat_view view;
  struct mafat_value whole = {.maker = -1};
  int n = laid->view.n_dims, left = 0;
  for (int k = 0; k < n; k++) dims[k] = over[k] ? 1 : laid->view.dims[k];
  mafat_view_lay(&view, n, dims, axes, e);
  int code = mafat_graph_output(g, keep ? out : &whole, l, &view);
  for (int k = 0; k < n && !keep; k++)
    if (!over[k]) dims[left++] = laid->view.dims[k];
  if (code == MAFAT_OK && !keep) code = mafat_graph_reshape(g, out, &whole, left, dims);
  mafat_value_clear(&whole);
  return code;
}

/* Sets the map axes that hold the selected dimensions. */
static void choose_axes(const struct mafat_value *laid, const bool *over, const int *axes,
                        struct mafat_reduce *how)
{
  how->rows = how->cols = how->channels = false;
  for (int k = 0; k < laid->view.n_dims; k++)
    if (over[k] && laid->view.dims[k] > 1)
      *(axes[k] == MAFAT_AXIS_H   ? &how->rows
        : axes[k] == MAFAT_AXIS_W ? &how->cols
                                  : &how->channels) = true;
  if (how->rows || how->cols || how->channels) return;
  /* all selected dimensions have size 1: reduce any axis of extent 1 */
  how->channels = laid->shape.c == 1;
  how->rows = !how->channels && laid->shape.h == 1;
  how->cols = !how->channels && !how->rows;
}

/* If all selected dimensions have size 1, the layer must reduce an axis of extent 1. If the map has
 * none, moves all dimensions to columns and channels, so that the rows become such an axis. */
static void free_an_axis(const struct mafat_value *in, const bool *over, int *axes)
{
  struct mafat_view v;
  long long e[MAFAT_N_AXES];
  int n = in->view.n_dims;
  for (int k = 0; k < n; k++)
    if (over[k] && in->view.dims[k] > 1) return;
  mafat_view_lay(&v, n, in->view.dims, axes, e);
  for (int axis = 0; axis < MAFAT_N_AXES; axis++)
    if (e[axis] == 1) return;
  for (int k = 0; k < n; k++) axes[k] = k == n - 1 ? MAFAT_AXIS_C : MAFAT_AXIS_W;
}

/* Makes a map in which selected dimensions share no axis with other dimensions. Sets axes[k] for
 * each dimension k. */
static int lay_separately(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_value *in, const bool *over, int *axes)
{
  mafat_graph_axes(in, axes);
  if (!are_separate(in, over, axes)) separate_axes(in, over, axes);
  free_an_axis(in, over, axes);
  return mafat_graph_lay(g, out, in, axes);
}

int mafat_graph_reduce(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const bool *over, struct mafat_reduce how, bool keep)
{
  struct mafat_value laid = {.maker = -1};
  int axes[MAFAT_VIEW_DIMS];
  int code = lay_separately(g, &laid, in, over, axes);
  if (code == MAFAT_OK) choose_axes(&laid, over, axes, &how);
  struct mafat_layer *l = code ? NULL : mafat_graph_begin(g, MAFAT_REDUCE, &laid);
  if (!l && code == MAFAT_OK) code = MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK && !(l->reduce = malloc(sizeof *l->reduce)))
    code = mafat_graph_fail_memory(g);
  if (code == MAFAT_OK) {
    *l->reduce = how;
    code = mafat_graph_end_layer(g, l);
  }
  if (code == MAFAT_OK) code = end_reduce(g, out, l, &laid, over, axes, keep);
  mafat_value_clear(&laid);
  return code;
}

/* ---- top k ---- */

static int end_topk(struct mafat_graph *g, struct mafat_value *values, struct mafat_value *places,
                    const struct mafat_layer *l, const struct mafat_value *laid, int dim,
                    const int *axes)
{
  long long e[MAFAT_N_AXES], dims[MAFAT_VIEW_DIMS];
  struct mafat_view view;
  memcpy(dims, laid->view.dims, sizeof dims);
  dims[dim] = l->topk.k;
  mafat_view_lay(&view, laid->view.n_dims, dims, axes, e);
  int code = mafat_graph_output_of(g, values, l, 0, &view);
  return code ? code : mafat_graph_output_of(g, places, l, 1, &view);
}

int mafat_graph_topk(struct mafat_graph *g, struct mafat_value *values, struct mafat_value *places,
                     const struct mafat_value *in, int dim, long long k, bool smallest)
{
  struct mafat_value laid = {.maker = -1};
  struct mafat_reduce which = {.how = MAFAT_REDUCE_MAX};
  bool over[MAFAT_VIEW_DIMS] = {false};
  int axes[MAFAT_VIEW_DIMS];
  if (k < 1 || k > in->view.dims[dim])
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "K: expected 1 to %lld, found %lld",
                            in->view.dims[dim], k);
  over[dim] = true;
  int code = lay_separately(g, &laid, in, over, axes);
  struct mafat_layer *l = code ? NULL : mafat_graph_begin(g, MAFAT_TOPK, &laid);
  if (code == MAFAT_OK && !l) code = MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK) {
    choose_axes(&laid, over, axes, &which);
    int axis = which.rows ? MAFAT_AXIS_H : which.cols ? MAFAT_AXIS_W : MAFAT_AXIS_C;
    l->topk = (struct mafat_topk){.k = (int)k, .axis = (signed char)axis, .smallest = smallest};
    code = mafat_graph_end_layer(g, l);
  }
  if (code == MAFAT_OK) code = end_topk(g, values, places, l, &laid, dim, axes);
  mafat_value_clear(&laid);
  return code;
}

/* ---- gather by constant indices ---- */

enum { MOST_PLACES = 1024 };

/* Returns the number of leading indices that are equally spaced, and sets *step to their distance,
 * which is not 0. One slice can read them. */
static int run_of(const long long *index, int n, long long *step)
{
  int run = 1;
  *step = n > 1 ? index[1] - index[0] : 1;
  if (*step == 0) *step = 1;
  else
    while (run < n && index[run] - index[run - 1] == *step) run++;
  return run;
}

static int gather_runs(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const long long *index, int n, int dim)
{
  struct mafat_value parts[MAFAT_MAX_OPERANDS];
  const struct mafat_value *list[MAFAT_MAX_OPERANDS], again = mafat_value_again(in);
  int n_parts = 0, code = MAFAT_OK;
  for (int k = 0; k < n && code == MAFAT_OK;) {
    long long step;
    int run = run_of(index + k, n - k, &step);
    if (n_parts == MAFAT_MAX_OPERANDS)
      code = mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                              "expected indices in at most %d equidistant runs, found more",
                              MAFAT_MAX_OPERANDS);
    if (code) break;
    parts[n_parts] = (struct mafat_value){.maker = -1};
    list[n_parts] = &parts[n_parts];
    code = mafat_graph_slice(g, &parts[n_parts++], run < n ? &again : in, dim, index[k], run, step);
    k += run;
  }
  if (code == MAFAT_OK)
    code = n_parts == 1 ? mafat_value_copy(g, out, list[0])
                        : mafat_graph_concat(g, out, list, n_parts, dim);
  for (int k = 0; k < n_parts; k++) mafat_value_clear(&parts[k]);
  return code;
}

static int gather_known(struct mafat_graph *g, struct mafat_value *out,
                        const struct mafat_value *in, const struct mafat_value *places, int dim)
{
  struct mafat_value joined = {.maker = -1};
  long long index[MOST_PLACES], dims[MAFAT_VIEW_DIMS];
  int n, n_dims = 0, code = mafat_value_integers(g, places, MOST_PLACES, index, &n);
  if (code) return code;
  if (in->view.n_dims - 1 + places->view.n_dims > MAFAT_VIEW_DIMS || n < 1)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "expected indices that give at most %d dimensions, found %d indices "
                            "of %d dimensions",
                            MAFAT_VIEW_DIMS, n, places->view.n_dims);
  for (int k = 0; k < n; k++) {
    if (index[k] < 0) index[k] += in->view.dims[dim];
    if (index[k] < 0 || index[k] >= in->view.dims[dim])
      return mafat_graph_fail(g, MAFAT_EFORMAT, "index %lld is out of range of %lld elements",
                              index[k], in->view.dims[dim]);
  }
  for (int k = 0; k < in->view.n_dims; k++) {
    if (k != dim) dims[n_dims++] = in->view.dims[k];
    for (int j = 0; k == dim && j < places->view.n_dims; j++) dims[n_dims++] = places->view.dims[j];
  }
  code = gather_runs(g, &joined, in, index, n, dim);
  if (code == MAFAT_OK) code = mafat_graph_reshape(g, out, &joined, n_dims, dims);
  mafat_value_clear(&joined);
  return code;
}

/* ---- gather by run-time indices ---- */

/* Lays indices as a map of one channel, with the last dimension along columns. */
static int lay_indices(struct mafat_graph *g, struct mafat_value *out,
                       const struct mafat_value *places)
{
  int axes[MAFAT_VIEW_DIMS];
  for (int k = 0; k < places->view.n_dims; k++)
    axes[k] = k == places->view.n_dims - 1 ? MAFAT_AXIS_W : MAFAT_AXIS_H;
  return mafat_graph_lay(g, out, places, axes);
}

static int gather_layer(struct mafat_graph *g, struct mafat_value *out,
                        const struct mafat_value *numbers, const struct mafat_value *table)
{
  static const struct mafat_graph_dims rows = {3, {MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C}};
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_GATHER, numbers);
  int code = l ? mafat_graph_add_operand(g, l, table) : MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK) code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output_on(g, out, l, &rows);
}

static int look_up(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *table,
                   const struct mafat_value *places)
{
  static const int on[] = {MAFAT_AXIS_W, MAFAT_AXIS_C};
  struct mafat_value numbers = {.maker = -1}, map = {.maker = -1}, found = {.maker = -1};
  long long dims[MAFAT_VIEW_DIMS];
  int n = places->view.n_dims;
  if (table->view.n_dims != 2 || n >= MAFAT_VIEW_DIMS || !mafat_value_is_constant(table))
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "expected a constant table of 2 dimensions, found one of %d",
                            table->view.n_dims);
  memcpy(dims, places->view.dims, sizeof dims);
  dims[n] = table->view.dims[1];
  int code = lay_indices(g, &numbers, places);
  if (code == MAFAT_OK) code = mafat_graph_constant_map(g, &map, table, on);
  if (code == MAFAT_OK) code = gather_layer(g, &found, &numbers, &map);
  if (code == MAFAT_OK) code = mafat_graph_reshape(g, out, &found, n + 1, dims);
  mafat_value_clear(&numbers);
  mafat_value_clear(&map);
  mafat_value_clear(&found);
  return code;
}

int mafat_graph_gather(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const struct mafat_value *places, int dim)
{
  if (mafat_value_is_constant(places)) return gather_known(g, out, in, places, dim);
  if (dim != 0)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "axis: expected 0 for indices known only at run time, found %d", dim);
  return look_up(g, out, in, places);
}

/* ---- resizing ---- */

int mafat_graph_resample(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, const struct mafat_resample *how,
                         const struct mafat_view *view)
{
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_RESAMPLE, in);
  if (!l) return MAFAT_EUNSUPPORTED;
  l->resample = malloc(sizeof *how);
  if (!l->resample) return mafat_graph_fail_memory(g);
  *l->resample = *how;
  int code = mafat_graph_end_layer(g, l);
  bool between = how->interpolation == MAFAT_INTERPOLATE_LINEAR && mafat_value_is_integer(g, in);
  /* with this rounding, interpolated integers may have another scale than the input */
  if (between && g->makes.numbers.rounding == MAFAT_REQUANTIZE_EVEN)
    l->quantization = g->makes.numbers;
  return code ? code : mafat_graph_output(g, out, l, view);
}
