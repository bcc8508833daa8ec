/* Imports TFLite operators that combine elements along dimensions: softmax, norms, reductions,
 * gather, resize. Called by formats/tflite/import.c through its table. Adds layers to the graph. */
#include "formats/graph/across.h"
#include "formats/tflite/importer.h"
#include "network/resample.h"

/* ---- softmax and norms: over the last dimension ---- */

static int normalize_last(struct mafat_tflite_importer *i, const struct mafat_value *in,
                          struct mafat_normalize how)
{
  bool over[MAFAT_VIEW_DIMS] = {false};
  if (in->view.n_dims < 1)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected at least 1 dimension, found none");
  over[in->view.n_dims - 1] = true;
  return mafat_graph_normalize_over(i->g, mafat_tflite_out(i, 0), in, over, how);
}

static int import_softmax(struct mafat_tflite_importer *i)
{
  struct mafat_value own, scaled = {.maker = -1};
  const struct mafat_value *in;
  float beta = i->o->code == MAFAT_TFLITE_SOFTMAX ? i->o->options.beta : 1;
  int code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK && !(beta > 0 && isfinite(beta)))
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "beta: expected a number above 0, found %g",
                            (double)beta);
  bool integers = code == MAFAT_OK && mafat_value_is_integer(i->g, in);
  if (code == MAFAT_OK && beta != 1 && !integers) {
    code = mafat_graph_combine_number(i->g, &scaled, MAFAT_GRAPH_MUL, in, (double)beta);
    in = &scaled;
  }
  if (code == MAFAT_OK)
    code =
        normalize_last(i, in,
                       (struct mafat_normalize){(enum mafat_normalize_how)mafat_tflite_variant(i),
                                                0, integers ? beta : 0});
  mafat_value_clear(&own);
  mafat_value_clear(&scaled);
  return code;
}

static int import_l2(struct mafat_tflite_importer *i)
{
  /* 1e-6: TFLite's minimum length of a vector */
  static const struct mafat_normalize how = {MAFAT_NORMALIZE_L2, 1e-6f, 0};
  struct mafat_value own;
  const struct mafat_value *in;
  int code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = normalize_last(i, in, how);
  mafat_value_clear(&own);
  return code;
}

/* ---- reductions ---- */

static int read_axes(struct mafat_tflite_importer *i, const struct mafat_value *in, bool *over)
{
  long long axes[MAFAT_VIEW_DIMS];
  int n, dim, code = mafat_tflite_list(i, 1, MAFAT_VIEW_DIMS, axes, &n);
  for (int k = 0; k < MAFAT_VIEW_DIMS; k++) over[k] = false;
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    code = mafat_tflite_dim(i, "axis", axes[k], in->view.n_dims, &dim);
    if (code == MAFAT_OK) over[dim] = true;
  }
  return code;
}

static int import_reduce(struct mafat_tflite_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS];
  int code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK && i->o->code == MAFAT_TFLITE_MEAN &&
      mafat_tflite_is_whole(i, i->o->inputs[0]))
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected an input of FLOAT32, INT8 or UINT8, found integers");
  if (code == MAFAT_OK) code = read_axes(i, in, over);
  if (code == MAFAT_OK)
    code = mafat_graph_reduce(
        i->g, mafat_tflite_out(i, 0), in, over,
        (struct mafat_reduce){.how = (enum mafat_reduction)mafat_tflite_variant(i)},
        i->o->options.keep_dims);
  mafat_value_clear(&own);
  return code;
}

static int import_arg(struct mafat_tflite_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long axis;
  int n, dim, code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_tflite_list(i, 1, 1, &axis, &n);
  if (code == MAFAT_OK && n != 1)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected one axis, found %d", n);
  if (code == MAFAT_OK) code = mafat_tflite_dim(i, "axis", axis, in->view.n_dims, &dim);
  if (code == MAFAT_OK) {
    over[dim] = true;
    code = mafat_graph_reduce(i->g, mafat_tflite_out(i, 0), in, over,
                              (struct mafat_reduce){.how = MAFAT_REDUCE_ARG_MAX}, false);
  }
  mafat_value_clear(&own);
  return code;
}

/* Imports TOPK_V2, which works along the last dimension. */
static int import_topk(struct mafat_tflite_importer *i)
{
  struct mafat_value own, unwanted = {.maker = -1};
  const struct mafat_value *in;
  long long k;
  int n, code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_tflite_list(i, 1, 1, &k, &n);
  if (code == MAFAT_OK && n != 1)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "k: expected one number, found %d", n);
  if (code == MAFAT_OK && (i->o->n_outputs != 2 || in->view.n_dims < 1))
    code =
        mafat_graph_fail(i->g, MAFAT_EFORMAT,
                         "expected 2 outputs of at least one dimension, found %d", i->o->n_outputs);
  if (code == MAFAT_OK) {
    struct mafat_value *outs[] = {&unwanted, &unwanted};
    for (int o = 0; o < 2; o++)
      if (i->slots[i->o->outputs[o]].readers) outs[o] = mafat_tflite_out(i, o);
    code = mafat_graph_topk(i->g, outs[0], outs[1], in, in->view.n_dims - 1, k, false);
  }
  mafat_value_clear(&unwanted);
  mafat_value_clear(&own);
  return code;
}

/* ---- gather ---- */

static int import_gather(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0), *places = mafat_tflite_in(i, 1);
  int dim, code = mafat_tflite_dim(i, "axis", i->o->options.axis.axis, in->view.n_dims, &dim);
  if (code) return code;
  if (i->o->options.axis.batch_dims)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "batch_dims: expected 0, found %d",
                            i->o->options.axis.batch_dims);
  return mafat_graph_gather(i->g, mafat_tflite_out(i, 0), in, places, dim);
}

/* ---- resizes ---- */

/* Returns the precision in which TFLite computes the coordinates of pixels: exact for linear
 * interpolation of floats, fixed point for int8, else floats. */
static enum mafat_precision precision_of(const struct mafat_meaning *is, bool nearest)
{
  if (nearest) return MAFAT_POINTS_SINGLE;
  return is->type == MAFAT_F32   ? MAFAT_POINTS_EXACT
         : is->numbers.is_signed ? MAFAT_POINTS_FIXED
                                 : MAFAT_POINTS_SINGLE;
}

/* Converts TFLite's flags align_corners and half_pixel_centers. */
static struct mafat_resample resample_of(const struct mafat_tflite_resize *options, bool nearest)
{
  struct mafat_resample r = {.interpolation =
                                 nearest ? MAFAT_INTERPOLATE_NEAREST : MAFAT_INTERPOLATE_LINEAR,
                             .coordinates = MAFAT_COORDINATES_ASYMMETRIC,
                             .rounding = MAFAT_ROUND_FLOOR};
  if (options->align_corners) {
    r.coordinates = MAFAT_COORDINATES_ALIGN_CORNERS;
    r.rounding = MAFAT_ROUND_PREFER_CEIL;
  } else if (options->half_pixel_centers) {
    r.coordinates = nearest ? MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN : MAFAT_COORDINATES_HALF_PIXEL;
  }
  return r;
}

static int resize(struct mafat_tflite_importer *i, const struct mafat_value *in, const int *axes)
{
  bool nearest = mafat_tflite_variant(i);
  struct mafat_resample r = resample_of(&i->o->options.resize, nearest);
  struct mafat_meaning is = mafat_value_meaning(i->g, in);
  struct mafat_view view;
  long long size[2], e[MAFAT_N_AXES];
  int n, code = mafat_tflite_list(i, 1, 2, size, &n);
  if (code) return code;
  if (n != 2 || size[0] < 1 || size[1] < 1 || size[0] > MAFAT_MAX_EXTENT ||
      size[1] > MAFAT_MAX_EXTENT)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected a height and a width, found %d numbers",
                            n);
  const long long dims[] = {1, size[0], size[1], in->shape.c};
  r.precision = precision_of(&is, nearest);
  r.y.size = (int)size[0];
  r.x.size = (int)size[1];
  mafat_view_lay(&view, 4, dims, axes, e);
  return mafat_graph_resample(i->g, mafat_tflite_out(i, 0), in, &r, &view);
}

static int import_resize(struct mafat_tflite_importer *i)
{
  static const int axes[] = {MAFAT_AXIS_H, MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C};
  struct mafat_value own, laid = {.maker = -1};
  const struct mafat_value *in;
  int code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK && (in->view.n_dims != 4 || in->view.dims[0] != 1))
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected an input of 4 dimensions, the first of them 1, found %d",
                            in->view.n_dims);
  if (code == MAFAT_OK && i->o->options.resize.align_corners &&
      i->o->options.resize.half_pixel_centers)
    code = mafat_graph_fail(
        i->g, MAFAT_EFORMAT,
        "align_corners, half_pixel_centers: expected one of them at most, found both");
  if (code == MAFAT_OK) code = mafat_graph_lay(i->g, &laid, in, axes);
  if (code == MAFAT_OK) code = resize(i, &laid, axes);
  mafat_value_clear(&own);
  mafat_value_clear(&laid);
  return code;
}

const struct mafat_tflite_row mafat_tflite_channel_rows[] = {
    {MAFAT_TFLITE_SOFTMAX, import_softmax, 1, MAFAT_NORMALIZE_SOFTMAX, true},
    {MAFAT_TFLITE_LOG_SOFTMAX, import_softmax, 1, MAFAT_NORMALIZE_LOG_SOFTMAX, false},
    {MAFAT_TFLITE_L2_NORMALIZATION, import_l2, 1, 0, false},
    {MAFAT_TFLITE_MEAN, import_reduce, 2, MAFAT_REDUCE_MEAN, true},
    {MAFAT_TFLITE_SUM, import_reduce, 2, MAFAT_REDUCE_SUM, false},
    {MAFAT_TFLITE_REDUCE_MAX, import_reduce, 2, MAFAT_REDUCE_MAX, false},
    {MAFAT_TFLITE_REDUCE_MIN, import_reduce, 2, MAFAT_REDUCE_MIN, false},
    {MAFAT_TFLITE_ARG_MAX, import_arg, 2, 0, true},
    {MAFAT_TFLITE_TOPK_V2, import_topk, 2, 0, true},
    {MAFAT_TFLITE_GATHER, import_gather, 2, 0, true},
    {MAFAT_TFLITE_RESIZE_BILINEAR, import_resize, 2, 0, true},
    {MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR, import_resize, 2, 1, true},
    {0, NULL, 0, 0, false}};
