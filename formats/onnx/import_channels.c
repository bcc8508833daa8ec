/* Operators that look at many elements of one or several dimensions: softmax, norms, reductions, gathers, resizes. */
#include "formats/onnx/importer.h"

#include "network/resample.h"

/* Dimensions that are asked for on one axis, the others apart from them. */
static void set_apart(const struct mafat_value *in, const bool *chosen, int axis, int *axes)
{
  int next = MAFAT_AXIS_W;
  if (axis == MAFAT_AXIS_W) next = MAFAT_AXIS_C;
  for (int k = in->view.n_dims; k-- > 0;) {
    axes[k] = chosen[k] ? axis : next;
    if (!chosen[k] && in->view.dims[k] > 1) next = MAFAT_AXIS_H;
  }
}

/* ---- softmax and norms: over channels ---- */

static int normalize(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_value *in, const bool *over, struct mafat_normalize how)
{
  struct mafat_value laid = {.maker = -1};
  int axes[MAFAT_VIEW_DIMS];
  set_apart(in, over, MAFAT_AXIS_C, axes);
  int code = mafat_graph_lay(i->g, &laid, in, axes);
  struct mafat_layer *l = code ? NULL : mafat_graph_begin(i->g, MAFAT_NORMALIZE, &laid);
  if (!l && code == MAFAT_OK) code = MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK && !(l->normalize = malloc(sizeof *l->normalize))) code = mafat_graph_fail(i->g, MAFAT_ENOMEM, "out of memory");
  if (code == MAFAT_OK) {
    *l->normalize = how;
    code = mafat_graph_end_layer(i->g, l);
  }
  if (code == MAFAT_OK) code = mafat_graph_output(i->g, out, l, &laid.view);
  mafat_value_clear(&laid);
  return code;
}

static int import_softmax(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long axis;
  int dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", i->opset < 13 ? 1 : -1, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  for (int k = dim; code == MAFAT_OK && k < in->view.n_dims; k++) over[k] = i->opset < 13 || k == dim;
  if (code == MAFAT_OK) code = normalize(i, mafat_onnx_out(i, 0), in, over, (struct mafat_normalize){(enum mafat_normalize_how)mafat_onnx_variant(i), 0});
  mafat_value_clear(&own);
  return code;
}

static int import_layer_norm(struct mafat_onnx_importer *i)
{
  struct mafat_value own, plain = {.maker = -1}, scaled = {.maker = -1};
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  struct mafat_normalize how = {MAFAT_NORMALIZE_LAYER, 0};
  long long axis;
  int dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", -1, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "epsilon", 1e-5f, &how.epsilon);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  if (code == MAFAT_OK && (mafat_onnx_wants(i, 1) || mafat_onnx_wants(i, 2))) code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "mean and deviation are not put out");
  for (int k = dim; code == MAFAT_OK && k < in->view.n_dims; k++) over[k] = true;
  if (code == MAFAT_OK) code = normalize(i, &plain, in, over, how);
  if (code == MAFAT_OK) code = mafat_graph_combine(i->g, &scaled, MAFAT_GRAPH_MUL, &plain, mafat_onnx_in(i, 1));
  if (code == MAFAT_OK && mafat_onnx_has(i, 2)) {
    code = mafat_graph_combine(i->g, mafat_onnx_out(i, 0), MAFAT_GRAPH_ADD, &scaled, mafat_onnx_in(i, 2));
  } else if (code == MAFAT_OK) {
    code = mafat_value_copy(i->g, mafat_onnx_out(i, 0), &scaled);
  }
  mafat_value_clear(&own);
  mafat_value_clear(&plain);
  mafat_value_clear(&scaled);
  return code;
}

static int import_lp_norm(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long axis, p;
  int dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", -1, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "p", 2, &p);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  over[dim] = true;
  if (code == MAFAT_OK && p != 1 && p != 2) code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute p: expected 1 or 2, found %lld", p);
  if (code == MAFAT_OK) code = normalize(i, mafat_onnx_out(i, 0), in, over, (struct mafat_normalize){p == 1 ? MAFAT_NORMALIZE_L1 : MAFAT_NORMALIZE_L2, 0});
  mafat_value_clear(&own);
  return code;
}

/* ---- reductions ---- */

/* May each dimension of a laid map be reduced, without others on its axis? */
static bool stands_apart(const struct mafat_value *in, const bool *over, const int *axes)
{
  struct mafat_view v;
  long long e[MAFAT_N_AXES];
  mafat_view_lay(&v, in->view.n_dims, in->view.dims, axes, e);
  if (!mafat_view_equals(&v, &in->view)) return false;
  for (int a = 0; a < in->view.n_dims; a++)
    for (int b = 0; b < in->view.n_dims; b++)
      if (over[a] && !over[b] && in->view.dims[a] > 1 && in->view.dims[b] > 1 && axes[a] == axes[b]) return false;
  return true;
}

static int end_reduce(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_layer *l, const struct mafat_value *laid,
                      const bool *over, const int *axes, bool keep)
{
  long long e[MAFAT_N_AXES], dims[MAFAT_VIEW_DIMS];
  struct mafat_view view;
  struct mafat_value whole = {.maker = -1};
  int n = laid->view.n_dims, left = 0;
  for (int k = 0; k < n; k++) dims[k] = over[k] ? 1 : laid->view.dims[k];
  mafat_view_lay(&view, n, dims, axes, e);
  int code = mafat_graph_output(i->g, keep ? out : &whole, l, &view);
  for (int k = 0; k < n && !keep; k++)
    if (!over[k]) dims[left++] = laid->view.dims[k];
  if (code == MAFAT_OK && !keep) code = mafat_graph_reshape(i->g, out, &whole, left, dims);
  mafat_value_clear(&whole);
  return code;
}

static int reduce(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_value *in, const bool *over, struct mafat_reduce how, bool keep)
{
  struct mafat_value laid = {.maker = -1};
  int axes[MAFAT_VIEW_DIMS];
  mafat_graph_axes(in, axes);
  if (!stands_apart(in, over, axes)) set_apart(in, over, MAFAT_AXIS_C, axes);
  int code = mafat_graph_lay(i->g, &laid, in, axes);
  bool rows = false, cols = false, channels = false;
  for (int k = 0; k < in->view.n_dims; k++)
    if (over[k] && in->view.dims[k] > 1) *(axes[k] == MAFAT_AXIS_H ? &rows : axes[k] == MAFAT_AXIS_W ? &cols : &channels) = true;
  if (!rows && !cols && !channels) channels = laid.shape.c == 1, rows = !channels && laid.shape.h == 1, cols = !channels && !rows;
  how.rows = rows, how.cols = cols, how.channels = channels;
  struct mafat_layer *l = code ? NULL : mafat_graph_begin(i->g, MAFAT_REDUCE, &laid);
  if (!l && code == MAFAT_OK) code = MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK && !(l->reduce = malloc(sizeof *l->reduce))) code = mafat_graph_fail(i->g, MAFAT_ENOMEM, "out of memory");
  if (code == MAFAT_OK) {
    *l->reduce = how;
    code = mafat_graph_end_layer(i->g, l);
  }
  if (code == MAFAT_OK) code = end_reduce(i, out, l, &laid, over, axes, keep);
  mafat_value_clear(&laid);
  return code;
}

static int import_reduce(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  long long list[MAFAT_VIEW_DIMS], keep, nothing;
  bool over[MAFAT_VIEW_DIMS] = {false};
  int n, dim, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_list(i, "axes", 1, MAFAT_VIEW_DIMS, list, &n);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "keepdims", 1, &keep);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "noop_with_empty_axes", 0, &nothing);
  bool all = n < 1;
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    code = mafat_onnx_axis(i, list[k], in->view.n_dims, &dim);
    if (code == MAFAT_OK) over[dim] = true;
  }
  for (int k = 0; code == MAFAT_OK && k < in->view.n_dims; k++) over[k] = over[k] || all;
  if (code == MAFAT_OK && all && nothing) code = mafat_value_copy(i->g, mafat_onnx_out(i, 0), in);
  else if (code == MAFAT_OK) code = reduce(i, mafat_onnx_out(i, 0), in, over, (struct mafat_reduce){.how = (enum mafat_reduction)mafat_onnx_variant(i)}, keep != 0);
  mafat_value_clear(&own);
  return code;
}

static int import_arg(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  long long axis, keep, last;
  bool over[MAFAT_VIEW_DIMS] = {false};
  int dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", 0, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "keepdims", 1, &keep);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "select_last_index", 0, &last);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  over[dim] = true;
  if (code == MAFAT_OK) code = reduce(i, mafat_onnx_out(i, 0), in, over, (struct mafat_reduce){.how = (enum mafat_reduction)mafat_onnx_variant(i), .last = last != 0}, keep != 0);
  mafat_value_clear(&own);
  return code;
}

/* The mean, or the largest, of each map of a picture. */
static int import_global_pool(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  int code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK && in->view.n_dims < 3) code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected 3 or more dimensions, found %d", in->view.n_dims);
  for (int k = 2; code == MAFAT_OK && k < in->view.n_dims; k++) over[k] = true;
  if (code == MAFAT_OK) code = reduce(i, mafat_onnx_out(i, 0), in, over, (struct mafat_reduce){.how = (enum mafat_reduction)mafat_onnx_variant(i)}, true);
  mafat_value_clear(&own);
  return code;
}

/* ---- gather ---- */

/* Of places that are known: slices, joined. */
static int gather_known(struct mafat_onnx_importer *i, const struct mafat_value *in, const struct mafat_value *places, int dim)
{
  enum { MOST = MAFAT_MAX_OPERANDS };
  long long index[1024], dims[MAFAT_VIEW_DIMS], first, step;
  int n, n_dims = 0, code = mafat_value_integers(i->g, places, 1024, index, &n);
  if (code) return code;
  for (int k = 0; k < n; k++) {
    if (index[k] < 0) index[k] += in->view.dims[dim];
    if (index[k] < 0 || index[k] >= in->view.dims[dim]) return mafat_graph_fail(i->g, MAFAT_EFORMAT, "place %lld is none of %lld", index[k], in->view.dims[dim]);
  }
  struct mafat_value parts[MOST], joined = {.maker = -1};
  const struct mafat_value *list[MOST];
  int n_parts = 0;
  for (int k = 0; k < n && code == MAFAT_OK;) {
    int run = 1;
    first = index[k];
    step = k + 1 < n ? index[k + 1] - first : 1;
    while (step != 0 && k + run < n && index[k + run] - index[k + run - 1] == step) run++;
    if (n_parts == MOST) code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "takes elements from more than %d places", MOST);
    if (code) break;
    parts[n_parts] = (struct mafat_value){.maker = -1};
    list[n_parts] = &parts[n_parts];
    code = mafat_graph_slice(i->g, &parts[n_parts++], in, dim, first, run, step);
    k += run;
  }
  if (code == MAFAT_OK) code = n_parts == 1 ? mafat_value_copy(i->g, &joined, list[0]) : mafat_graph_concat(i->g, &joined, list, n_parts, dim);
  for (int k = 0; k < in->view.n_dims; k++) {
    if (k != dim) dims[n_dims++] = in->view.dims[k];
    for (int j = 0; k == dim && j < places->view.n_dims && n_dims < MAFAT_VIEW_DIMS; j++) dims[n_dims++] = places->view.dims[j];
  }
  if (code == MAFAT_OK) code = mafat_graph_reshape(i->g, mafat_onnx_out(i, 0), &joined, n_dims, dims);
  for (int k = 0; k < n_parts; k++) mafat_value_clear(&parts[k]);
  mafat_value_clear(&joined);
  return code;
}

static int import_gather(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0), *places = mafat_onnx_in(i, 1);
  long long axis;
  int dim, code = mafat_onnx_int(i, "axis", 0, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  if (code) return code;
  if (mafat_value_is_constant(places)) return gather_known(i, in, places, dim);
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "gathers from places that are computed in runs");
}

/* ---- resize ---- */

static bool find_word(const char *word, const char *const *words, int n, int *index)
{
  for (*index = 0; *index < n; ++*index)
    if (strcmp(word, words[*index]) == 0) return true;
  return false;
}

static int take_modes(struct mafat_onnx_importer *i, struct mafat_resample *r)
{
  static const char *const coordinates[MAFAT_N_COORDINATES] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"};
  static const char *const roundings[MAFAT_N_ROUNDINGS] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  static const char *const modes[] = {"nearest", "linear"};
  const char *mode, *coordinate, *rounding;
  bool old = i->opset < 11;
  int index, code = mafat_onnx_string(i, "mode", "nearest", &mode);
  if (code == MAFAT_OK) code = mafat_onnx_string(i, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel", &coordinate);
  if (code == MAFAT_OK) code = mafat_onnx_string(i, "nearest_mode", old ? "floor" : "round_prefer_floor", &rounding);
  if (code) return code;
  if (!find_word(mode, modes, 2, &index)) return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "attribute mode: expected nearest or linear, found '%.40s'", mode);
  r->interpolation = (enum mafat_interpolation)index;
  if (!find_word(coordinate, coordinates, MAFAT_N_COORDINATES, &index))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "attribute coordinate_transformation_mode: '%.40s' is not run", coordinate);
  r->coordinates = (enum mafat_coordinates)index;
  if (!find_word(rounding, roundings, MAFAT_N_ROUNDINGS, &index)) return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute nearest_mode: found '%.40s'", rounding);
  r->rounding = (enum mafat_rounding)index;
  return MAFAT_OK;
}

/* Sizes or scales of all dimensions; scales: 0 where sizes are given. */
static int take_sizes(struct mafat_onnx_importer *i, const struct mafat_value *in, long long *sizes, double *scales)
{
  int n = 0, n_dims = in->view.n_dims, at = i->opset < 11 ? 1 : 2, code = MAFAT_OK;
  double *list = NULL;
  const struct mafat_onnx_attribute *old = mafat_onnx_attribute(i->node, "scales");
  for (int k = 0; k < n_dims; k++) scales[k] = 0, sizes[k] = in->view.dims[k];
  if (i->opset >= 11 && mafat_onnx_has(i, 3) && mafat_value_elements(mafat_onnx_in(i, 3)) > 0) {
    code = mafat_value_integers(i->g, mafat_onnx_in(i, 3), MAFAT_VIEW_DIMS, sizes, &n);
    if (code == MAFAT_OK && n != n_dims) code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d sizes, found %d", n_dims, n);
    return code;
  }
  if (old && old->type == MAFAT_ONNX_ATTRIBUTE_FLOATS) {
    n = old->n;
    for (int k = 0; k < n && k < n_dims; k++) scales[k] = (double)old->as.floats[k];
  } else {
    if ((code = mafat_value_numbers(i->g, mafat_onnx_in(i, at), MAFAT_VIEW_DIMS, &list))) return code;
    n = (int)mafat_value_elements(mafat_onnx_in(i, at));
    for (int k = 0; k < n && k < n_dims; k++) scales[k] = list[k];
    free(list);
  }
  if (n != n_dims) return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d scales, found %d", n_dims, n);
  for (int k = 0; k < n; k++) {
    if (!(scales[k] > 0 && scales[k] < 1e6)) return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected scales above 0, found %g", scales[k]);
    sizes[k] = (long long)floor((double)in->view.dims[k] * scales[k]);
  }
  return MAFAT_OK;
}

static int resize(struct mafat_onnx_importer *i, const struct mafat_value *in)
{
  struct mafat_resample r = {0};
  struct mafat_value laid = {.maker = -1};
  struct mafat_view view;
  long long sizes[MAFAT_VIEW_DIMS], e[MAFAT_N_AXES];
  double scales[MAFAT_VIEW_DIMS];
  int axes[MAFAT_VIEW_DIMS], n = in->view.n_dims, code = take_modes(i, &r);
  if (code == MAFAT_OK) code = take_sizes(i, in, sizes, scales);
  if (code) return code;
  if (n < 1 || n > 4) return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected 1 to 4 dimensions, found %d", n);
  for (int k = 0; k < n; k++) {
    axes[k] = k == n - 1 ? MAFAT_AXIS_W : k == n - 2 ? MAFAT_AXIS_H : MAFAT_AXIS_C;
    if (sizes[k] < 1 || sizes[k] > MAFAT_MAX_EXTENT) return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "dimension %d would be %lld", k, sizes[k]);
    if (k < n - 2 && sizes[k] != in->view.dims[k]) return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "dimension %d would be another: expected the last two alone", k);
  }
  r.x = (struct mafat_resample_axis){(int)sizes[n - 1], scales[n - 1]};
  r.y = n > 1 ? (struct mafat_resample_axis){(int)sizes[n - 2], scales[n - 2]} : (struct mafat_resample_axis){1, 1};
  code = mafat_graph_lay(i->g, &laid, in, axes);
  struct mafat_layer *l = code ? NULL : mafat_graph_begin(i->g, MAFAT_RESAMPLE, &laid);
  if (!l && code == MAFAT_OK) code = MAFAT_EUNSUPPORTED;
  if (code == MAFAT_OK && !(l->resample = malloc(sizeof r))) code = mafat_graph_fail(i->g, MAFAT_ENOMEM, "out of memory");
  if (code == MAFAT_OK) {
    *l->resample = r;
    code = mafat_graph_end_layer(i->g, l);
  }
  mafat_view_lay(&view, n, sizes, axes, e);
  if (code == MAFAT_OK) code = mafat_graph_output(i->g, mafat_onnx_out(i, 0), l, &view);
  mafat_value_clear(&laid);
  return code;
}

static int import_resize(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  int code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = resize(i, in);
  mafat_value_clear(&own);
  return code;
}

const struct mafat_onnx_operator mafat_onnx_channel_operators[] = {
    {"Softmax", import_softmax, MAFAT_NORMALIZE_SOFTMAX}, {"LogSoftmax", import_softmax, MAFAT_NORMALIZE_LOG_SOFTMAX},
    {"Hardmax", import_softmax, MAFAT_NORMALIZE_HARDMAX}, {"LayerNormalization", import_layer_norm, 0}, {"LpNormalization", import_lp_norm, 0},
    {"ReduceSum", import_reduce, MAFAT_REDUCE_SUM}, {"ReduceMean", import_reduce, MAFAT_REDUCE_MEAN}, {"ReduceProd", import_reduce, MAFAT_REDUCE_PRODUCT},
    {"ReduceMax", import_reduce, MAFAT_REDUCE_MAX}, {"ReduceMin", import_reduce, MAFAT_REDUCE_MIN}, {"ReduceL1", import_reduce, MAFAT_REDUCE_L1},
    {"ReduceL2", import_reduce, MAFAT_REDUCE_L2}, {"ReduceSumSquare", import_reduce, MAFAT_REDUCE_SUM_OF_SQUARES},
    {"ReduceLogSum", import_reduce, MAFAT_REDUCE_LOG_SUM}, {"ReduceLogSumExp", import_reduce, MAFAT_REDUCE_LOG_SUM_EXP},
    {"ArgMax", import_arg, MAFAT_REDUCE_ARG_MAX}, {"ArgMin", import_arg, MAFAT_REDUCE_ARG_MIN}, {"Gather", import_gather, 0}, {"Resize", import_resize, 0}, {"Upsample", import_resize, 0},
    {"GlobalAveragePool", import_global_pool, MAFAT_REDUCE_MEAN}, {"GlobalMaxPool", import_global_pool, MAFAT_REDUCE_MAX}, {NULL, NULL, 0}};
