/* Imports ONNX operators that combine elements along dimensions: softmax, norms, reductions,
 * gather, resize. Called by formats/onnx (import.c, computing.c, integers.c, import_dynamic.c)
 * through the table of operators. Adds layers to the graph. */
#include "formats/graph/across.h"
#include "formats/onnx/importer.h"

#include "network/resample.h"

/* ---- softmax and norms ---- */

static int import_softmax(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long axis;
  int dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", i->opset < 13 ? 1 : -1, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  for (int k = dim; code == MAFAT_OK && k < in->view.n_dims; k++)
    over[k] = i->opset < 13 || k == dim;
  if (code == MAFAT_OK)
    code = mafat_graph_normalize_over(
        i->g, mafat_onnx_out(i, 0), in, over,
        (struct mafat_normalize){(enum mafat_normalize_how)mafat_onnx_variant(i), 0, 0});
  mafat_value_clear(&own);
  return code;
}

/* Computes 1 / sqrt(variance + epsilon). */
static int invert_deviation(struct mafat_onnx_importer *i, const struct mafat_value *in,
                            const struct mafat_value *mean, const bool *over, float epsilon)
{
  enum { DISTANCE, SQUARES, VARIANCE, SUM, N_STEPS };
  const struct mafat_reduce mean_of = {.how = MAFAT_REDUCE_MEAN};
  struct mafat_value steps[N_STEPS];
  for (int k = 0; k < N_STEPS; k++) steps[k] = (struct mafat_value){.maker = -1};
  int code = mafat_graph_combine(i->g, &steps[DISTANCE], MAFAT_GRAPH_SUB, in, mean);
  if (code == MAFAT_OK)
    code = mafat_graph_combine(i->g, &steps[SQUARES], MAFAT_GRAPH_MUL, &steps[DISTANCE],
                               &steps[DISTANCE]);
  if (code == MAFAT_OK)
    code = mafat_graph_reduce(i->g, &steps[VARIANCE], &steps[SQUARES], over, mean_of, true);
  if (code == MAFAT_OK)
    code = mafat_graph_combine_number(i->g, &steps[SUM], MAFAT_GRAPH_ADD, &steps[VARIANCE],
                                      (double)epsilon);
  if (code == MAFAT_OK)
    code =
        mafat_graph_combine_number(i->g, mafat_onnx_out(i, 2), MAFAT_GRAPH_POW, &steps[SUM], -.5);
  for (int k = 0; k < N_STEPS; k++) mafat_value_clear(&steps[k]);
  return code;
}

/* Makes the second and third output, mean and inverse deviation, which usually only training
 * reads. */
static int put_out_statistics(struct mafat_onnx_importer *i, const struct mafat_value *in,
                              const bool *over, float epsilon)
{
  struct mafat_value mean = {.maker = -1};
  if (!mafat_onnx_wants(i, 1) && !mafat_onnx_wants(i, 2)) return MAFAT_OK;
  int code = mafat_graph_reduce(i->g, &mean, in, over,
                                (struct mafat_reduce){.how = MAFAT_REDUCE_MEAN}, true);
  if (code == MAFAT_OK && mafat_onnx_wants(i, 1))
    code = mafat_value_copy(i->g, mafat_onnx_out(i, 1), &mean);
  if (code == MAFAT_OK && mafat_onnx_wants(i, 2))
    code = invert_deviation(i, in, &mean, over, epsilon);
  mafat_value_clear(&mean);
  return code;
}

/* Normalizes integers, with float factors and offsets per channel, which mafat_onnx_takes
 * (takes.c) has checked. */
static int normalize_numbers(struct mafat_onnx_importer *i, const struct mafat_value *in,
                             const bool *over, struct mafat_normalize how)
{
  const struct mafat_value *const numbers[MAFAT_GRAPH_SCALED] = {mafat_onnx_in(i, 1),
                                                                 mafat_onnx_in(i, 2)};
  return mafat_graph_normalize_scaled(i->g, mafat_onnx_out(i, 0), in, over, how, numbers,
                                      mafat_onnx_has(i, 2) ? 2 : 1);
}

static int import_layer_norm(struct mafat_onnx_importer *i)
{
  struct mafat_value own, plain = {.maker = -1}, scaled = {.maker = -1};
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  struct mafat_normalize how = {MAFAT_NORMALIZE_LAYER, 0, 0};
  long long axis;
  int dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", -1, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "epsilon", 1e-5f, &how.epsilon);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  for (int k = dim; code == MAFAT_OK && k < in->view.n_dims; k++) over[k] = true;
  if (code == MAFAT_OK && i->g->makes.type != MAFAT_F32) {
    code = normalize_numbers(i, in, over, how);
    mafat_value_clear(&own);
    return code;
  }
  if (code == MAFAT_OK) code = mafat_graph_normalize_over(i->g, &plain, in, over, how);
  if (code == MAFAT_OK) code = put_out_statistics(i, in, over, how.epsilon);
  if (code == MAFAT_OK)
    code = mafat_graph_combine(i->g, &scaled, MAFAT_GRAPH_MUL, &plain, mafat_onnx_in(i, 1));
  if (code == MAFAT_OK && mafat_onnx_has(i, 2)) {
    code = mafat_graph_combine(i->g, mafat_onnx_out(i, 0), MAFAT_GRAPH_ADD, &scaled,
                               mafat_onnx_in(i, 2));
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
  if (code == MAFAT_OK && p != 1 && p != 2)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute p: expected 1 or 2, found %lld", p);
  if (code == MAFAT_OK)
    code = mafat_graph_normalize_over(
        i->g, mafat_onnx_out(i, 0), in, over,
        (struct mafat_normalize){p == 1 ? MAFAT_NORMALIZE_L1 : MAFAT_NORMALIZE_L2, 0, 0});
  mafat_value_clear(&own);
  return code;
}

/* ---- reductions ---- */

/* True if reducing a single element leaves it unchanged. */
static bool keeps_one(enum mafat_reduction how)
{
  return how != MAFAT_REDUCE_L1 && how != MAFAT_REDUCE_L2 && how != MAFAT_REDUCE_SUM_OF_SQUARES &&
         how != MAFAT_REDUCE_LOG_SUM;
}

/* Rejects reductions of integers whose result may have a fraction, which ONNX truncates. */
static int refuse_fractions(const struct mafat_onnx_importer *i, enum mafat_reduction how)
{
  bool cuts = how == MAFAT_REDUCE_MEAN || how == MAFAT_REDUCE_L2 || how == MAFAT_REDUCE_LOG_SUM ||
              how == MAFAT_REDUCE_LOG_SUM_EXP;
  if (!cuts || !mafat_onnx_is_whole(i, 0)) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                          "expected an input of type float, found integers");
}

static int import_reduce(struct mafat_onnx_importer *i)
{
  enum mafat_reduction how = (enum mafat_reduction)mafat_onnx_variant(i);
  struct mafat_value own;
  const struct mafat_value *in;
  long long list[MAFAT_VIEW_DIMS];
  bool over[MAFAT_VIEW_DIMS] = {false}, keep, nothing;
  int n = 0, dim, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_list(i, "axes", 1, MAFAT_VIEW_DIMS, list, &n);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "keepdims", true, &keep);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "noop_with_empty_axes", false, &nothing);
  if (code == MAFAT_OK) code = refuse_fractions(i, how);
  /* none: noop_with_empty_axes is set, so each element is reduced by itself */
  bool none = code == MAFAT_OK && n < 1 && nothing, all = n < 1 && !none;
  /* duplicates are ignored, like in onnxruntime */
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    code = mafat_onnx_axis(i, list[k], in->view.n_dims, &dim);
    if (code == MAFAT_OK) over[dim] = true;
  }
  for (int k = 0; code == MAFAT_OK && k < in->view.n_dims; k++) over[k] = over[k] || all;
  if (code == MAFAT_OK && none && keeps_one(how))
    code = mafat_value_copy(i->g, mafat_onnx_out(i, 0), in);
  else if (code == MAFAT_OK)
    code = mafat_graph_reduce(i->g, mafat_onnx_out(i, 0), in, over,
                              (struct mafat_reduce){.how = how}, keep);
  mafat_value_clear(&own);
  return code;
}

static int import_arg(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  long long axis;
  bool over[MAFAT_VIEW_DIMS] = {false}, keep, last;
  int dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", 0, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "keepdims", true, &keep);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "select_last_index", false, &last);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  over[dim] = true;
  if (code == MAFAT_OK)
    code = mafat_graph_reduce(
        i->g, mafat_onnx_out(i, 0), in, over,
        (struct mafat_reduce){.how = (enum mafat_reduction)mafat_onnx_variant(i), .last = last},
        keep);
  mafat_value_clear(&own);
  return code;
}

static int import_topk(struct mafat_onnx_importer *i)
{
  struct mafat_value own, unwanted = {.maker = -1};
  const struct mafat_value *in;
  long long axis, k;
  bool largest;
  int n, dim = 0, code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "axis", -1, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "largest", true, &largest);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  if (code == MAFAT_OK)
    code = i->opset < 10 ? mafat_onnx_int(i, "k", -1, &k) : mafat_onnx_list(i, "k", 1, 1, &k, &n);
  if (code == MAFAT_OK && i->opset >= 10 && n != 1)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "K: expected one number, found %d", n);
  if (code == MAFAT_OK) {
    struct mafat_value *values = mafat_onnx_wants(i, 0) ? mafat_onnx_out(i, 0) : &unwanted;
    code = mafat_graph_topk(i->g, values, mafat_onnx_wants(i, 1) ? mafat_onnx_out(i, 1) : &unwanted,
                            in, dim, k, !largest);
  }
  mafat_value_clear(&unwanted);
  mafat_value_clear(&own);
  return code;
}

/* Reduces all dimensions after batch and channels: the mean or maximum of each channel. */
static int import_global_pool(struct mafat_onnx_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  int code = mafat_onnx_map(i, 0, &own, &in);
  if (code == MAFAT_OK && in->view.n_dims < 3)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected 3 or more dimensions, found %d",
                            in->view.n_dims);
  for (int k = 2; code == MAFAT_OK && k < in->view.n_dims; k++) over[k] = true;
  if (code == MAFAT_OK)
    code = mafat_graph_reduce(
        i->g, mafat_onnx_out(i, 0), in, over,
        (struct mafat_reduce){.how = (enum mafat_reduction)mafat_onnx_variant(i)}, true);
  mafat_value_clear(&own);
  return code;
}

/* ---- gather ---- */

static int import_gather(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0), *places = mafat_onnx_in(i, 1);
  long long axis;
  int dim, code = mafat_onnx_int(i, "axis", 0, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  return code ? code : mafat_graph_gather(i->g, mafat_onnx_out(i, 0), in, places, dim);
}

/* ---- resize ---- */

static bool find_word(const char *word, const char *const *words, int n, int *index)
{
  for (*index = 0; *index < n; ++*index)
    if (strcmp(word, words[*index]) == 0) return true;
  return false;
}

static int read_cubic(struct mafat_onnx_importer *i, struct mafat_resample *r)
{
  bool exclude;
  int code = mafat_onnx_float(i, "cubic_coeff_a", -.75f, &r->keys);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "exclude_outside", false, &exclude);
  if (code) return code;
  if (r->interpolation != MAFAT_INTERPOLATE_CUBIC) r->keys = 0;
  r->exclude_outside = exclude;
  return MAFAT_OK;
}

/* Rejects unsupported attributes of newer opsets. */
static int refuse_more(struct mafat_onnx_importer *i)
{
  static const char *const stretch = "stretch";
  const char *policy;
  long long antialias;
  int code = mafat_onnx_int(i, "antialias", 0, &antialias);
  if (code == MAFAT_OK) code = mafat_onnx_string(i, "keep_aspect_ratio_policy", stretch, &policy);
  if (code) return code;
  if (antialias)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "attribute antialias: expected 0, found 1");
  if (strcmp(policy, stretch) != 0)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "attribute keep_aspect_ratio_policy: expected %s, found '%.40s'",
                            stretch, policy);
  if (mafat_onnx_attribute(i->node, "axes"))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "attribute axes: expected none, and sizes or scales of all dimensions");
  return MAFAT_OK;
}

static int read_modes(struct mafat_onnx_importer *i, struct mafat_resample *r)
{
  static const char *const coordinates[MAFAT_N_COORDINATES] = {
      "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
      "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};
  static const char *const roundings[MAFAT_N_ROUNDINGS] = {"round_prefer_floor",
                                                           "round_prefer_ceil", "floor", "ceil"};
  static const char *const modes[MAFAT_N_INTERPOLATIONS] = {"nearest", "linear", "cubic"};
  const char *mode, *coordinate, *rounding;
  bool old = i->opset < 11;
  int index, code = mafat_onnx_string(i, "mode", "nearest", &mode);
  if (code == MAFAT_OK)
    code = mafat_onnx_string(i, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel",
                             &coordinate);
  if (code == MAFAT_OK)
    code = mafat_onnx_string(i, "nearest_mode", old ? "floor" : "round_prefer_floor", &rounding);
  if (code) return code;
  if (!find_word(mode, modes, MAFAT_N_INTERPOLATIONS, &index))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "attribute mode: expected nearest, linear or cubic, found '%.40s'",
                            mode);
  r->interpolation = (enum mafat_interpolation)index;
  if (!find_word(coordinate, coordinates, MAFAT_N_COORDINATES, &index))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "attribute coordinate_transformation_mode: '%.40s' is not run",
                            coordinate);
  r->coordinates = (enum mafat_coordinates)index;
  if (!find_word(rounding, roundings, MAFAT_N_ROUNDINGS, &index))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute nearest_mode: found '%.40s'", rounding);
  r->rounding = (enum mafat_rounding)index;
  return read_cubic(i, r);
}

/* Reads the output's sizes, or reads scales and computes the sizes from them. If the node declares
 * sizes, all scales are set to 0. */
static int read_sizes(struct mafat_onnx_importer *i, const struct mafat_value *in, long long *sizes,
                      double *scales)
{
  int n = 0, n_dims = in->view.n_dims, at = i->opset < 11 ? 1 : 2, code = MAFAT_OK;
  double *list = NULL;
  const struct mafat_onnx_attribute *old = mafat_onnx_attribute(i->node, "scales");
  for (int k = 0; k < n_dims; k++) scales[k] = 0, sizes[k] = in->view.dims[k];
  if (i->opset >= 11 && mafat_onnx_has(i, 3) && mafat_value_elements(mafat_onnx_in(i, 3)) > 0) {
    code = mafat_value_integers(i->g, mafat_onnx_in(i, 3), MAFAT_VIEW_DIMS, sizes, &n);
    if (code == MAFAT_OK && n != n_dims)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d sizes, found %d", n_dims, n);
    return code;
  }
  if (old && old->type == MAFAT_ONNX_ATTRIBUTE_FLOATS) {
    n = old->n;
    for (int k = 0; k < n && k < n_dims; k++) scales[k] = (double)old->as.floats[k];
  } else {
    if ((code = mafat_value_numbers(i->g, mafat_onnx_in(i, at), MAFAT_VIEW_DIMS, &list)))
      return code;
    n = (int)mafat_value_elements(mafat_onnx_in(i, at));
    for (int k = 0; k < n && k < n_dims; k++) scales[k] = list[k];
    free(list);
  }
  if (n != n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d scales, found %d", n_dims, n);
  for (int k = 0; k < n; k++) {
    if (!(scales[k] > 0 && scales[k] < 1e6))
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected scales above 0, found %g", scales[k]);
    /* in floats, as ONNX's own shape inference does: 10 * 0.7 gives 7 */
    sizes[k] = (long long)floorf((float)in->view.dims[k] * (float)scales[k]);
  }
  return MAFAT_OK;
}

/* Opset 10 does not specify the rounding of nearest. Models expect, and onnxruntime uses, floor for
 * enlarging and ceil for shrinking. */
static int find_old_rounding(struct mafat_onnx_importer *i, const double *scales, int n,
                             struct mafat_resample *r)
{
  bool fewer = false, more = false;
  for (int k = 0; k < n; k++) {
    fewer = fewer || scales[k] < 1;
    more = more || scales[k] > 1;
  }
  if (fewer && more && r->interpolation == MAFAT_INTERPOLATE_NEAREST)
    return mafat_graph_fail(
        i->g, MAFAT_EUNSUPPORTED,
        "scales: enlarging rows and shrinking columns, or the reverse, is not supported");
  r->rounding = fewer ? MAFAT_ROUND_CEIL : MAFAT_ROUND_FLOOR;
  return MAFAT_OK;
}

static int resize(struct mafat_onnx_importer *i, const struct mafat_value *in)
{
  struct mafat_resample r = {0};
  struct mafat_value laid = {.maker = -1};
  struct mafat_view view;
  long long sizes[MAFAT_VIEW_DIMS], e[MAFAT_N_AXES];
  double scales[MAFAT_VIEW_DIMS];
  int axes[MAFAT_VIEW_DIMS], n = in->view.n_dims, code = read_modes(i, &r);
  if (code == MAFAT_OK) code = refuse_more(i);
  if (code == MAFAT_OK) code = read_sizes(i, in, sizes, scales);
  if (code == MAFAT_OK && i->opset < 11) code = find_old_rounding(i, scales, n, &r);
  if (code) return code;
  if (n < 1 || n > 4)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected 1 to 4 dimensions, found %d", n);
  for (int k = 0; k < n; k++) {
    axes[k] = k == n - 1 ? MAFAT_AXIS_W : k == n - 2 ? MAFAT_AXIS_H : MAFAT_AXIS_C;
    if (sizes[k] < 1 || sizes[k] > MAFAT_MAX_EXTENT)
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "dimension %d would be %lld", k, sizes[k]);
    if (k < n - 2 && sizes[k] != in->view.dims[k])
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                              "dimension %d would be resized: expected only the last two", k);
  }
  r.x = (struct mafat_resample_axis){(int)sizes[n - 1], scales[n - 1]};
  r.y = n > 1 ? (struct mafat_resample_axis){(int)sizes[n - 2], scales[n - 2]}
              : (struct mafat_resample_axis){1, 1};
  mafat_view_lay(&view, n, sizes, axes, e);
  code = mafat_graph_lay(i->g, &laid, in, axes);
  if (code == MAFAT_OK) code = mafat_graph_resample(i->g, mafat_onnx_out(i, 0), &laid, &r, &view);
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
    {"Softmax", import_softmax, MAFAT_NORMALIZE_SOFTMAX},
    {"LogSoftmax", import_softmax, MAFAT_NORMALIZE_LOG_SOFTMAX},
    {"Hardmax", import_softmax, MAFAT_NORMALIZE_HARDMAX},
    {"LayerNormalization", import_layer_norm, 0},
    {"LpNormalization", import_lp_norm, 0},
    {"ReduceSum", import_reduce, MAFAT_REDUCE_SUM},
    {"ReduceMean", import_reduce, MAFAT_REDUCE_MEAN},
    {"ReduceProd", import_reduce, MAFAT_REDUCE_PRODUCT},
    {"ReduceMax", import_reduce, MAFAT_REDUCE_MAX},
    {"ReduceMin", import_reduce, MAFAT_REDUCE_MIN},
    {"ReduceL1", import_reduce, MAFAT_REDUCE_L1},
    {"ReduceL2", import_reduce, MAFAT_REDUCE_L2},
    {"ReduceSumSquare", import_reduce, MAFAT_REDUCE_SUM_OF_SQUARES},
    {"ReduceLogSum", import_reduce, MAFAT_REDUCE_LOG_SUM},
    {"ReduceLogSumExp", import_reduce, MAFAT_REDUCE_LOG_SUM_EXP},
    {"ArgMax", import_arg, MAFAT_REDUCE_ARG_MAX},
    {"ArgMin", import_arg, MAFAT_REDUCE_ARG_MIN},
    {"TopK", import_topk, 0},
    {"Gather", import_gather, 0},
    {"Resize", import_resize, 0},
    {"Upsample", import_resize, 0},
    {"GlobalAveragePool", import_global_pool, MAFAT_REDUCE_MEAN},
    {"GlobalMaxPool", import_global_pool, MAFAT_REDUCE_MAX},
    {NULL, NULL, 0}};
