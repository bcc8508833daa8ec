/* Imports ONNX operators with windows, and normalizations: convolutions, pools, batch norm. Called
 * by formats/onnx (import.c, computing.c, integers.c, import_dynamic.c) through the table of
 * operators. Adds layers to the graph. */
#include "formats/graph/matrices.h"
#include "formats/onnx/importer.h"

/* ---- windows ---- */

static const int axes_of_four[] = {MAFAT_AXIS_H, MAFAT_AXIS_C, MAFAT_AXIS_H, MAFAT_AXIS_W};
static const int axes_of_three[] = {MAFAT_AXIS_H, MAFAT_AXIS_C, MAFAT_AXIS_W};
static const struct mafat_graph_dims dims_of_four = {
    4, {-1, MAFAT_AXIS_C, MAFAT_AXIS_H, MAFAT_AXIS_W}};
static const struct mafat_graph_dims dims_of_three = {3,
                                                      {MAFAT_AXIS_H, MAFAT_AXIS_C, MAFAT_AXIS_W}};
static const int axes_of_columns[] = {MAFAT_AXIS_W, MAFAT_AXIS_C, MAFAT_AXIS_H, MAFAT_AXIS_W};
static const struct mafat_graph_dims dims_of_rows = {
    4, {MAFAT_AXIS_H, MAFAT_AXIS_C, -1, MAFAT_AXIS_W}};
static const struct mafat_graph_dims dims_of_columns = {
    4, {MAFAT_AXIS_W, MAFAT_AXIS_C, MAFAT_AXIS_H, -1}};

/* True for a batch of several pictures. It is supported only if each picture has a single row or
 * column: the batch then becomes the rows or columns of one map. */
static bool is_batch(const struct mafat_value *in)
{
  return in->view.n_dims == 4 && in->view.dims[0] > 1;
}

static bool is_of_columns(const struct mafat_value *in)
{
  return is_batch(in) && in->view.dims[2] > 1;
}

static const struct mafat_graph_dims *map_dims(const struct mafat_value *in)
{
  if (is_batch(in)) return is_of_columns(in) ? &dims_of_columns : &dims_of_rows;
  return in->view.n_dims == 4 ? &dims_of_four : &dims_of_three;
}

static const int *map_axes(const struct mafat_value *in)
{
  return is_of_columns(in) ? axes_of_columns : in->view.n_dims == 4 ? axes_of_four : axes_of_three;
}

static int refuse_map(struct mafat_onnx_importer *i, const struct mafat_value *in)
{
  if (in->view.n_dims == 4)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected one picture, or several of one row or column, found %lld",
                            in->view.dims[0]);
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                          "expected an input of 3 or 4 dimensions, found %d", in->view.n_dims);
}

/* Sets *own to input `index` as a map with its channels on the channel axis; the caller clears it.
 * Fails for a batch that is not supported (is_batch). */
static int read_map(struct mafat_onnx_importer *i, int index, struct mafat_value *own)
{
  struct mafat_value constant;
  const struct mafat_value *in;
  int code = mafat_onnx_map(i, index, &constant, &in);
  *own = (struct mafat_value){.maker = -1};
  if (code) return code;
  if ((in->view.n_dims != 3 && in->view.n_dims != 4) ||
      (is_batch(in) && in->view.dims[2] != 1 && in->view.dims[3] != 1))
    code = refuse_map(i, in);
  if (code == MAFAT_OK) code = mafat_graph_lay(i->g, own, in, map_axes(in));
  mafat_value_clear(&constant);
  return code;
}

struct window_attributes {
  long long kernel[2], strides[2], dilations[2], pads[4];
  bool ceil;
};

static int read_pair(struct mafat_onnx_importer *i, const char *name, int n_space,
                     long long otherwise, long long *values)
{
  int n, code = mafat_onnx_ints(i, name, n_space, values, &n);
  if (code) return code;
  if (n >= 0 && n != n_space)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute %s: expected %d numbers, found %d",
                            name, n_space, n);
  for (int k = 0; k < n_space; k++) {
    if (n < 0) values[k] = otherwise;
    if (values[k] < 1 || values[k] > MAFAT_MAX_EXTENT)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute %s: found %lld", name, values[k]);
  }
  if (n_space == 1) values[1] = values[0], values[0] = 1;
  return MAFAT_OK;
}

/* Sets the padding of auto_pad SAME_UPPER (`upper`) or SAME_LOWER, with which there are
 * ceil(extent / stride) outputs. If the padding is odd, the larger half is after the map if
 * `upper`, else before it. */
static void pad_same(struct window_attributes *w, const struct mafat_shape *in, bool upper)
{
  const int extents[2] = {in->h, in->w};
  for (int k = 0; k < 2; k++) {
    long long outputs = (extents[k] + w->strides[k] - 1) / w->strides[k];
    long long all =
        (outputs - 1) * w->strides[k] + (w->kernel[k] - 1) * w->dilations[k] + 1 - extents[k];
    if (all < 0) all = 0;
    w->pads[k] = upper ? all / 2 : all - all / 2;
    w->pads[k + 2] = all - w->pads[k];
  }
}

static int read_pads(struct mafat_onnx_importer *i, const struct mafat_shape *in, int n_space,
                     struct window_attributes *w)
{
  const char *mode;
  long long pads[4];
  int n, code = mafat_onnx_string(i, "auto_pad", "NOTSET", &mode);
  if (code == MAFAT_OK) code = mafat_onnx_ints(i, "pads", 4, pads, &n);
  if (code) return code;
  if (strcmp(mode, "SAME_UPPER") == 0 || strcmp(mode, "SAME_LOWER") == 0) {
    pad_same(w, in, strcmp(mode, "SAME_UPPER") == 0);
    return MAFAT_OK;
  }
  if (strcmp(mode, "VALID") == 0) return MAFAT_OK;
  if (strcmp(mode, "NOTSET") != 0)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute auto_pad: found '%.40s'", mode);
  if (n < 0) return MAFAT_OK;
  if (n != 2 * n_space)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute pads: expected %d numbers, found %d",
                            2 * n_space, n);
  for (int k = 0; k < n; k++) {
    if (pads[k] < 0 || pads[k] > MAFAT_MAX_EXTENT)
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "attribute pads: found %lld", pads[k]);
    w->pads[n_space == 2 ? k : 1 + 2 * k] = pads[k];
  }
  return MAFAT_OK;
}

/* Reads the window's attributes. kernel: the window's height and width by the shape of the weights;
 * NULL: there are no weights, and the attribute kernel_shape is required. */
static int read_window(struct mafat_onnx_importer *i, const struct mafat_value *in,
                       const long long *kernel, struct window_attributes *w)
{
  int n_space = in->view.n_dims - 2, code = MAFAT_OK;
  *w = (struct window_attributes){{1, 1}, {1, 1}, {1, 1}, {0}, false};
  if (mafat_onnx_attribute(i->node, "kernel_shape"))
    code = read_pair(i, "kernel_shape", n_space, 1, w->kernel);
  else if (kernel) memcpy(w->kernel, kernel, sizeof w->kernel);
  else code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "has no attribute kernel_shape");
  if (code == MAFAT_OK && kernel && memcmp(kernel, w->kernel, sizeof w->kernel) != 0)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "attribute kernel_shape is %lld x %lld, of weights for %lld x %lld",
                            w->kernel[0], w->kernel[1], kernel[0], kernel[1]);
  if (code == MAFAT_OK) code = read_pair(i, "strides", n_space, 1, w->strides);
  if (code == MAFAT_OK) code = read_pair(i, "dilations", n_space, 1, w->dilations);
  for (int k = 0; k < 2 && code == MAFAT_OK; k++)
    if ((w->kernel[k] - 1) * w->dilations[k] >= MAFAT_MAX_EXTENT)
      code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                              "a window of %lld taps, %lld apart, is too large", w->kernel[k],
                              w->dilations[k]);
  if (code == MAFAT_OK) code = read_pads(i, &in->shape, n_space, w);
  if (code == MAFAT_OK) mafat_onnx_take_pads(i, w->pads);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "ceil_mode", false, &w->ceil);
  int k = is_of_columns(in);
  bool alone = w->kernel[k] == 1 && w->strides[k] == 1 && w->pads[k] == 0 && w->pads[k + 2] == 0;
  return code == MAFAT_OK && is_batch(in) && !alone ? refuse_map(i, in) : code;
}

/* Returns the taps along axis k (0: rows). With ceil_mode the last output's window may exceed the
 * padding, but it must begin before the map's end. */
static struct mafat_taps taps_of(const struct window_attributes *w, int k, int extent)
{
  struct mafat_taps t = {(int)w->kernel[k], (int)w->strides[k], (int)w->dilations[k],
                         (int)w->pads[k], (int)w->pads[k + 2]};
  long long capacity = (long long)extent + t.before + t.after - mafat_taps_reach(t),
            rest = capacity > 0 ? capacity % t.stride : 0;
  if (w->ceil && rest && capacity / t.stride * t.stride + t.stride < (long long)extent + t.before)
    t.after += t.stride - (int)rest;
  return t;
}

static struct mafat_window window_of(const struct window_attributes *w,
                                     const struct mafat_shape *in)
{
  return (struct mafat_window){taps_of(w, 0, in->h), taps_of(w, 1, in->w)};
}

/* ---- convolutions ---- */

/* Reads the kernel's size from the dimensions of the weights: the last one or two. */
static int weights_kernel(struct mafat_onnx_importer *i, const struct mafat_value *in,
                          const struct mafat_value *weights, long long *kernel)
{
  int n_space = in->view.n_dims - 2;
  if (!mafat_value_is_constant(weights))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected constant weights, found a tensor computed at run time");
  if (weights->view.n_dims != n_space + 2)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected weights of %d dimensions, found %d",
                            n_space + 2, weights->view.n_dims);
  kernel[0] = n_space == 2 ? weights->view.dims[2] : 1;
  kernel[1] = weights->view.dims[n_space + 1];
  if (kernel[0] < 1 || kernel[1] < 1)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected weights of at least one tap, found %lld x %lld", kernel[0],
                            kernel[1]);
  if (kernel[0] > 4096 || kernel[1] > 4096 || weights->view.dims[0] > MAFAT_MAX_EXTENT ||
      weights->view.dims[1] > MAFAT_MAX_EXTENT)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "weights of %lld x %lld x %lld x %lld are too large",
                            weights->view.dims[0], weights->view.dims[1], kernel[0], kernel[1]);
  return MAFAT_OK;
}

static int read_groups(struct mafat_onnx_importer *i, long long *groups)
{
  int code = mafat_onnx_int(i, "group", 1, groups);
  if (code == MAFAT_OK && (*groups < 1 || *groups > MAFAT_MAX_EXTENT))
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute group: found %lld", *groups);
  return code;
}

static int convolve(struct mafat_onnx_importer *i, const struct mafat_value *in)
{
  const struct mafat_value *weights = mafat_onnx_in(i, 1), *bias = mafat_onnx_in(i, 2);
  struct window_attributes w;
  long long kernel[2], groups = 1;
  int code = weights_kernel(i, in, weights, kernel);
  if (code == MAFAT_OK) code = read_groups(i, &groups);
  if (code == MAFAT_OK) code = read_window(i, in, kernel, &w);
  if (code == MAFAT_OK &&
      (weights->view.dims[1] * groups != in->shape.c || weights->view.dims[0] % groups))
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "weights for %lld channels in each of %lld groups, but an input of %d",
                            weights->view.dims[1], groups, in->shape.c);
  if (code == MAFAT_OK && bias->form == MAFAT_VALUE_MAP)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected a constant bias");
  if (code) return code;
  const struct mafat_graph_conv conv = {window_of(&w, &in->shape),
                                        (int)groups, (int)weights->view.dims[0], weights, bias,
                                        MAFAT_ORDER_FILTERS, false, false};
  return mafat_graph_convolve(i->g, mafat_onnx_out(i, 0), in, &conv, map_dims(in));
}

static int import_conv(struct mafat_onnx_importer *i)
{
  struct mafat_value in;
  int code = read_map(i, 0, &in);
  if (code == MAFAT_OK) code = convolve(i, &in);
  mafat_value_clear(&in);
  return code;
}

/* Attributes of a transposed convolution, for rows and columns: its window, outputs cropped before
 * and after, and outputs added at the end (output_padding). */
struct transposed {
  long long kernel[2], strides[2], dilations[2], before[2], after[2], more[2];
};

/* Reads one value per axis from an optional attribute; the default is `least`. */
static int read_extents(struct mafat_onnx_importer *i, const char *name, int n_space,
                        long long least, long long *values)
{
  long long list[2];
  int n, code = mafat_onnx_ints(i, name, n_space, list, &n);
  values[0] = values[1] = least;
  if (code || n < 0) return code;
  if (n != n_space)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute %s: expected %d numbers, found %d",
                            name, n_space, n);
  for (int k = 0; k < n; k++) {
    if (list[k] < least || list[k] > MAFAT_MAX_EXTENT)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute %s: found %lld", name, list[k]);
    values[k + 2 - n] = list[k];
  }
  return MAFAT_OK;
}

static int read_transposed(struct mafat_onnx_importer *i, const struct mafat_value *in,
                           const long long *kernel, struct transposed *t)
{
  struct window_attributes w;
  int n_space = in->view.n_dims - 2, code = read_window(i, in, kernel, &w);
  long long shape[2];
  const char *mode;
  const int extents[2] = {in->shape.h, in->shape.w};
  if (code == MAFAT_OK) code = read_extents(i, "output_padding", n_space, 0, t->more);
  if (code == MAFAT_OK) code = read_extents(i, "output_shape", n_space, 0, shape);
  if (code == MAFAT_OK) code = mafat_onnx_string(i, "auto_pad", "NOTSET", &mode);
  if (code) return code;
  bool same = strncmp(mode, "SAME_", 5) == 0, upper = strcmp(mode, "SAME_UPPER") == 0;
  for (int k = 0; k < 2; k++) {
    t->kernel[k] = w.kernel[k], t->strides[k] = w.strides[k], t->dilations[k] = w.dilations[k];
    t->before[k] = w.pads[k], t->after[k] = w.pads[k + 2];
    long long whole =
        (extents[k] - 1) * t->strides[k] + (t->kernel[k] - 1) * t->dilations[k] + 1 + t->more[k];
    long long wanted = shape[k] ? shape[k] : same ? extents[k] * t->strides[k] : 0;
    if (k < 2 - n_space || wanted < 1) continue;
    long long all = whole - wanted;
    t->before[k] = upper ? all / 2 : all - all / 2;
    t->after[k] = all - t->before[k];
    if (all < 0) t->before[k] = 0, t->after[k] = all;
  }
  return MAFAT_OK;
}

/* Returns the zero insertion after which an ordinary convolution with reversed taps gives the same
 * output. The result has the fields {elements of the result, zeros before the first input, distance
 * of inputs}. The margin of zeros on each side is the window's reach minus the outputs that are
 * cropped there. */
static struct mafat_graph_spread spread_of(const struct transposed *t, int k, int extent)
{
  long long reach = (t->kernel[k] - 1) * t->dilations[k], first = reach - t->before[k];
  return (struct mafat_graph_spread){(extent - 1) * t->strides[k] + 1 + first + reach -
                                         t->after[k] + t->more[k],
                                     first, t->strides[k]};
}

static int convolve_transposed(struct mafat_onnx_importer *i, const struct mafat_value *in,
                               struct mafat_value *wide)
{
  const struct mafat_value *weights = mafat_onnx_in(i, 1), *bias = mafat_onnx_in(i, 2);
  struct transposed t;
  long long kernel[2], groups = 1;
  int code = weights_kernel(i, in, weights, kernel);
  if (code == MAFAT_OK) code = read_groups(i, &groups);
  if (code == MAFAT_OK) code = read_transposed(i, in, kernel, &t);
  if (code == MAFAT_OK && weights->view.dims[0] != in->shape.c)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "weights for %lld channels, but an input of %d",
                            weights->view.dims[0], in->shape.c);
  if (code) return code;
  struct mafat_graph_spread rows = spread_of(&t, 0, in->shape.h),
                            columns = spread_of(&t, 1, in->shape.w);
  if ((code = mafat_graph_spread(i->g, wide, in, &rows, &columns, map_dims(in)))) return code;
  struct mafat_window window = {{(int)kernel[0], 1, (int)t.dilations[0], 0, 0},
                                {(int)kernel[1], 1, (int)t.dilations[1], 0, 0}};
  const struct mafat_graph_conv conv = {window,  (int)groups, (int)(weights->view.dims[1] * groups),
                                        weights, bias,        MAFAT_ORDER_TRANSPOSED,
                                        true,    false};
  return mafat_graph_convolve(i->g, mafat_onnx_out(i, 0), wide, &conv, map_dims(in));
}

static int import_conv_transpose(struct mafat_onnx_importer *i)
{
  struct mafat_value in, wide = {.maker = -1};
  int code = read_map(i, 0, &in);
  if (code == MAFAT_OK && is_batch(&in)) code = refuse_map(i, &in);
  if (code == MAFAT_OK) code = convolve_transposed(i, &in, &wide);
  mafat_value_clear(&in);
  mafat_value_clear(&wide);
  return code;
}

/* ---- pools ---- */

static int pool(struct mafat_onnx_importer *i, const struct mafat_value *in, bool mean)
{
  struct window_attributes w;
  bool count_padding = false;
  int code = read_window(i, in, NULL, &w);
  if (code == MAFAT_OK && mean)
    code = mafat_onnx_flag(i, "count_include_pad", false, &count_padding);
  if (code == MAFAT_OK && mafat_onnx_wants(i, 1))
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "output 1, indices, is not supported");
  struct mafat_layer *l =
      code ? NULL : mafat_graph_begin(i->g, mean ? MAFAT_LOCAL_AVGPOOL : MAFAT_MAXPOOL, in);
  if (!l) return code ? code : MAFAT_EUNSUPPORTED;
  l->window = window_of(&w, &in->shape);
  l->count_padding = count_padding;
  l->counted_y = (int)w.pads[2];
  l->counted_x = (int)w.pads[3];
  code = mafat_graph_end_layer(i->g, l);
  /* a mean of integers may have another scale than its input */
  if (mean && mafat_value_is_integer(i->g, in)) l->quantization = i->g->makes.numbers;
  return code ? code : mafat_graph_output_on(i->g, mafat_onnx_out(i, 0), l, map_dims(in));
}

static int import_pool(struct mafat_onnx_importer *i)
{
  struct mafat_value in;
  int code = read_map(i, 0, &in);
  if (code == MAFAT_OK) code = pool(i, &in, mafat_onnx_variant(i));
  mafat_value_clear(&in);
  return code;
}

/* ---- normalization ---- */

static int import_batch_norm(struct mafat_onnx_importer *i)
{
  struct mafat_value in;
  struct mafat_graph_affine a = {.scales = mafat_onnx_in(i, 1),
                                 .biases = mafat_onnx_in(i, 2),
                                 .means = mafat_onnx_in(i, 3),
                                 .variances = mafat_onnx_in(i, 4)};
  bool training;
  int code = mafat_onnx_float(i, "epsilon", 1e-5f, &a.epsilon);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "training_mode", false, &training);
  if (code == MAFAT_OK && (training || mafat_onnx_wants(i, 1)))
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "training mode is not supported");
  for (int k = 1; k < 5 && code == MAFAT_OK; k++)
    if (!mafat_value_is_constant(mafat_onnx_in(i, k)))
      code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "input %d: expected a constant", k);
  if (code == MAFAT_OK) code = read_map(i, 0, &in);
  if (code) return code;
  in.readers = mafat_onnx_in(i, 0)->readers;
  code = mafat_graph_normalize(i->g, mafat_onnx_out(i, 0), &in, &a);
  mafat_value_clear(&in);
  return code;
}

const struct mafat_onnx_operator mafat_onnx_layer_operators[] = {
    {"Conv", import_conv, 0},
    {"ConvTranspose", import_conv_transpose, 0},
    {"MaxPool", import_pool, 0},
    {"AveragePool", import_pool, 1},
    {"BatchNormalization", import_batch_norm, 0},
    {NULL, NULL, 0}};
