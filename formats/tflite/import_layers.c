/* Imports TFLite operators with windows and matrices: convolutions, pools, fully connected layers,
 * matrix products. Called by formats/tflite/import.c through its table. Adds layers to the
 * graph. */
#include "formats/graph/matrices.h"
#include "formats/tflite/importer.h"

static const int axes_of_four[] = {MAFAT_AXIS_H, MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C};
static const struct mafat_graph_dims dims_of_four = {
    4, {-1, MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C}};

/* ---- windows ---- */

/* Returns input `index` as a map of one picture, [1, h, w, c]. The caller clears *own. */
static int read_map(struct mafat_tflite_importer *i, int index, struct mafat_value *own)
{
  struct mafat_value constant;
  const struct mafat_value *in;
  int code = mafat_tflite_map(i, index, &constant, &in);
  *own = (struct mafat_value){.maker = -1};
  if (code == MAFAT_OK && (in->view.n_dims != 4 || in->view.dims[0] != 1))
    code = mafat_graph_fail(
        i->g, MAFAT_EUNSUPPORTED,
        "expected an input of 4 dimensions, the first of them 1, found %d and %lld",
        in->view.n_dims, in->view.n_dims ? in->view.dims[0] : 0);
  if (code == MAFAT_OK) code = mafat_graph_lay(i->g, own, in, axes_of_four);
  mafat_value_clear(&constant);
  return code;
}

/* Returns the taps along an axis. padding SAME gives ceil(extent / stride) outputs; if the number
 * of padding pixels is odd, there is one more at the end. */
static struct mafat_taps taps_of(int padding, int size, int stride, int dilation, int extent)
{
  struct mafat_taps t = {size, stride, dilation, 0, 0};
  if (padding == MAFAT_TFLITE_VALID) return t;
  int outputs = (extent + stride - 1) / stride;
  long long all = (long long)(outputs - 1) * stride + (long long)(size - 1) * dilation + 1 - extent;
  t.before = all > 0 ? (int)(all / 2) : 0;
  t.after = all > 0 ? (int)(all - all / 2) : 0;
  return t;
}

/* Returns the operator's window, including the padding of a PAD before it. */
static struct mafat_window window_of(struct mafat_tflite_importer *i, const struct mafat_shape *in,
                                     int kernel_h, int kernel_w)
{
  const struct mafat_tflite_window *w = &i->o->options.window;
  const int *pads = mafat_tflite_in_slot(i, 0)->pads;
  struct mafat_window window = {taps_of(w->padding, kernel_h, w->stride_h, w->dilation_h, in->h),
                                taps_of(w->padding, kernel_w, w->stride_w, w->dilation_w, in->w)};
  window.y.before += pads[0], window.y.after += pads[1];
  window.x.before += pads[2], window.x.after += pads[3];
  return window;
}

/* Rejects windows that are larger than any map: with their padding, sizes would overflow. */
static int check_reach(struct mafat_tflite_importer *i, long long kernel, int dilation)
{
  if ((kernel - 1) * dilation < MAFAT_MAX_EXTENT) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                          "a window of %lld with a dilation of %d: expected less than %d pixels",
                          kernel, dilation, MAFAT_MAX_EXTENT);
}

/* ---- convolutions ---- */

/* Checks weights [filters, h, w, inputs], or [1, h, w, filters] for depthwise convolutions. */
static int check_weights(struct mafat_tflite_importer *i, const struct mafat_value *weights)
{
  enum { MOST_TAPS = 4096 };
  if (!mafat_value_is_constant(weights))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected constant weights, found a tensor computed at run time");
  if (weights->view.n_dims != 4)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected weights of 4 dimensions, found %d",
                            weights->view.n_dims);
  for (int k = 0; k < 4; k++) {
    long long most = k == 1 || k == 2 ? MOST_TAPS : MAFAT_MAX_EXTENT;
    if (weights->view.dims[k] < 1 || weights->view.dims[k] > most)
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                              "dimension %d of its weights: expected 1 to %lld, found %lld", k,
                              most, weights->view.dims[k]);
  }
  return MAFAT_OK;
}

static const struct mafat_value *bias_of(struct mafat_tflite_importer *i, int index)
{
  const struct mafat_value *bias = mafat_tflite_in(i, index);
  return bias->form == MAFAT_VALUE_NONE ? NULL : bias;
}

/* Finds the bias in input `index`; *bias NULL: none. For integer layers it points to *own, an int32
 * constant in the file. */
static int find_bias(struct mafat_tflite_importer *i, int index, struct mafat_value *own,
                     const struct mafat_value **bias)
{
  bool integers = mafat_value_is_quantized(mafat_tflite_in(i, 1)) && i->g->makes.type != MAFAT_F32;
  *own = (struct mafat_value){.maker = -1};
  int code = integers ? mafat_tflite_bias(i, index, own) : MAFAT_OK;
  *bias = integers && own->form != MAFAT_VALUE_NONE ? own : bias_of(i, index);
  return code;
}

static int check_bias(struct mafat_tflite_importer *i, int index)
{
  const struct mafat_value *bias = bias_of(i, index);
  if (!bias || mafat_value_is_constant(bias)) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                          "expected a constant bias, found a tensor computed at run time");
}

/* Checks that a scale per filter is declared along the dimension that counts filters. */
static int check_dimension(struct mafat_tflite_importer *i, const struct mafat_value *weights,
                           int dimension)
{
  if (weights->scales.list.n < 2 || weights->scales.dimension == dimension) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                          "scales of its weights: expected dimension %d, found %d", dimension,
                          weights->scales.dimension);
}

/* True for unsigned weights, which follow the older of TFLite's two rules. */
static bool is_single(const struct mafat_value *weights)
{
  return mafat_value_is_quantized(weights) && weights->place.type == MAFAT_U8;
}

static int convolve(struct mafat_tflite_importer *i, struct mafat_value *made,
                    const struct mafat_value *in, bool depthwise)
{
  const struct mafat_value *weights = mafat_tflite_in(i, 1);
  const struct mafat_tflite_window *w = &i->o->options.window;
  const long long *d = weights->view.dims;
  int code = check_weights(i, weights);
  if (code == MAFAT_OK) code = check_reach(i, d[1], w->dilation_h);
  if (code == MAFAT_OK) code = check_reach(i, d[2], w->dilation_w);
  if (code == MAFAT_OK) code = check_bias(i, 2);
  if (code == MAFAT_OK && depthwise && (d[0] != 1 || d[3] % in->shape.c))
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "weights for %lld filters, but an input of %d channels", d[3],
                            in->shape.c);
  if (code == MAFAT_OK && !depthwise && (in->shape.c % d[3] || d[0] % (in->shape.c / d[3])))
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "weights for %lld filters of %lld channels, but an input of %d", d[0],
                            d[3], in->shape.c);
  struct mafat_value own;
  const struct mafat_value *bias;
  if (code == MAFAT_OK) code = find_bias(i, 2, &own, &bias);
  if (code == MAFAT_OK) code = check_dimension(i, weights, depthwise ? 3 : 0);
  if (code) return code;
  int groups = depthwise ? in->shape.c : in->shape.c / (int)d[3],
      filters = (int)(depthwise ? d[3] : d[0]);
  const struct mafat_graph_conv conv = {
      window_of(i, &in->shape, (int)d[1], (int)d[2]),          groups, filters, weights, bias,
      depthwise ? MAFAT_ORDER_TAPS : MAFAT_ORDER_FILTERS_TAPS, false, is_single(weights)};
  return mafat_graph_convolve(i->g, made, in, &conv, &dims_of_four);
}

static int import_conv(struct mafat_tflite_importer *i)
{
  struct mafat_value in, made = {.maker = -1};
  int code = read_map(i, 0, &in);
  if (code == MAFAT_OK) code = convolve(i, &made, &in, mafat_tflite_variant(i));
  mafat_value_clear(&in);
  return mafat_tflite_finish(i, code, &made, i->o->options.window.fused);
}

/* A transposed convolution equals an ordinary convolution with reversed taps, after zeros were
 * inserted between the inputs. Returns this insertion along one axis as {elements of the result,
 * zeros before the first input, distance of inputs}: out + kernel - 1 elements, and a margin of
 * kernel - 1 zeros minus the padding. */
static struct mafat_graph_spread spread_of(const struct mafat_tflite_window *w, int in,
                                           long long out, int kernel, int stride)
{
  long long all = w->padding == MAFAT_TFLITE_SAME ? (long long)(in - 1) * stride + kernel - out : 0;
  return (struct mafat_graph_spread){out + kernel - 1, kernel - 1 - (all > 0 ? all / 2 : 0),
                                     stride};
}

/* True if an ordinary convolution with this window, applied to the transposed convolution's output,
 * gives a map of the input's size. For other sizes, frameworks compute different outputs. */
static bool is_of_outputs(const struct mafat_tflite_window *w, int in, long long out,
                          long long kernel, int stride)
{
  long long windows = w->padding == MAFAT_TFLITE_SAME ? out : out - kernel + 1;
  return (windows + stride - 1) / stride == in;
}

static int convolve_transposed(struct mafat_tflite_importer *i, struct mafat_value *made,
                               const struct mafat_value *in)
{
  const struct mafat_value *weights = mafat_tflite_in(i, 1);
  const struct mafat_tflite_window *w = &i->o->options.window;
  const long long *d = weights->view.dims;
  struct mafat_value wide = {.maker = -1};
  long long shape[4];
  int n, code = mafat_tflite_list(i, 0, 4, shape, &n);
  if (code == MAFAT_OK) code = check_weights(i, weights);
  if (code == MAFAT_OK) code = check_bias(i, 3);
  if (code == MAFAT_OK &&
      (n != 4 || shape[0] != 1 || shape[1] < 1 || shape[2] < 1 || shape[1] > MAFAT_MAX_EXTENT ||
       shape[2] > MAFAT_MAX_EXTENT || shape[3] != d[0] || d[3] != in->shape.c))
    code = mafat_graph_fail(
        i->g, MAFAT_EFORMAT,
        "weights for %lld filters of %lld channels do not fit an input of %d, or output_shape",
        d[0], d[3], in->shape.c);
  if (code == MAFAT_OK && !(is_of_outputs(w, in->shape.h, shape[1], d[1], w->stride_h) &&
                            is_of_outputs(w, in->shape.w, shape[2], d[2], w->stride_w)))
    code = mafat_graph_fail(
        i->g, MAFAT_EFORMAT,
        "output_shape: a convolution of %lld x %lld does not make its input, %d x %d", shape[1],
        shape[2], in->shape.h, in->shape.w);
  struct mafat_value own;
  const struct mafat_value *bias;
  if (code == MAFAT_OK) code = find_bias(i, 3, &own, &bias);
  if (code == MAFAT_OK) code = check_dimension(i, weights, 0);
  if (code) return code;
  struct mafat_graph_spread rows = spread_of(w, in->shape.h, shape[1], (int)d[1], w->stride_h);
  struct mafat_graph_spread columns = spread_of(w, in->shape.w, shape[2], (int)d[2], w->stride_w);
  const struct mafat_window window = {{(int)d[1], 1, 1, 0, 0}, {(int)d[2], 1, 1, 0, 0}};
  const struct mafat_graph_conv conv = {
      window, 1, (int)d[0], weights, bias, MAFAT_ORDER_FILTERS_TAPS, true, is_single(weights)};
  code = mafat_graph_spread(i->g, &wide, in, &rows, &columns, &dims_of_four);
  if (code == MAFAT_OK) code = mafat_graph_convolve(i->g, made, &wide, &conv, &dims_of_four);
  mafat_value_clear(&wide);
  return code;
}

static int import_transposed(struct mafat_tflite_importer *i)
{
  struct mafat_value in, made = {.maker = -1};
  int code = read_map(i, 2, &in);
  if (code == MAFAT_OK) code = convolve_transposed(i, &made, &in);
  mafat_value_clear(&in);
  return mafat_tflite_finish(i, code, &made, i->o->options.window.fused);
}

/* ---- pools ---- */

static int pool(struct mafat_tflite_importer *i, struct mafat_value *made,
                const struct mafat_value *in)
{
  enum { MOST_TAPS = 4096 };
  const struct mafat_tflite_window *w = &i->o->options.window;
  if (w->filter_h > MOST_TAPS || w->filter_w > MOST_TAPS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected a window of at most %d a side, found %d x %d", MOST_TAPS,
                            w->filter_h, w->filter_w);
  struct mafat_layer *l =
      mafat_graph_begin(i->g, mafat_tflite_variant(i) ? MAFAT_LOCAL_AVGPOOL : MAFAT_MAXPOOL, in);
  if (!l) return MAFAT_EUNSUPPORTED;
  l->window = (struct mafat_window){taps_of(w->padding, w->filter_h, w->stride_h, 1, in->shape.h),
                                    taps_of(w->padding, w->filter_w, w->stride_w, 1, in->shape.w)};
  int code = mafat_graph_end_layer(i->g, l);
  return code ? code : mafat_graph_output_on(i->g, made, l, &dims_of_four);
}

static int import_pool(struct mafat_tflite_importer *i)
{
  struct mafat_value in, made = {.maker = -1};
  int code = read_map(i, 0, &in);
  if (code == MAFAT_OK) code = pool(i, &made, &in);
  mafat_value_clear(&in);
  return mafat_tflite_finish(i, code, &made, i->o->options.window.fused);
}

/* ---- matrices ---- */

/* Reshapes the input to rows of `inputs` values. With keep_num_dims the dimensions stay. */
static int make_rows(struct mafat_tflite_importer *i, struct mafat_value *rows,
                     const struct mafat_value *in, long long inputs)
{
  long long elements = mafat_value_elements(in),
            dims[2] = {inputs > 0 ? elements / inputs : 0, inputs};
  if (i->o->options.dense.keep_num_dims) return mafat_value_copy(i->g, rows, in);
  if (inputs < 1 || elements % inputs)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "weights for %lld inputs, but an input of %lld values", inputs,
                            elements);
  return mafat_graph_reshape(i->g, rows, in, 2, dims);
}

static int multiply(struct mafat_tflite_importer *i, struct mafat_value *made,
                    const struct mafat_value *in)
{
  static const int turned[] = {1, 0};
  const struct mafat_value *weights = mafat_tflite_in(i, 1), *bias;
  struct mafat_value own, rows = {.maker = -1}, matrix = {.maker = -1}, product = {.maker = -1};
  if (weights->view.n_dims != 2)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected weights of 2 dimensions, found %d",
                            weights->view.n_dims);
  if (i->o->options.dense.weights_format)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "weights_format: expected 0, found 1, which is not run");
  int code = find_bias(i, 2, &own, &bias);
  if (code == MAFAT_OK) code = check_dimension(i, weights, 0);
  if (code == MAFAT_OK) code = make_rows(i, &rows, in, weights->view.dims[1]);
  bool constant = mafat_value_is_constant(weights) && (!bias || mafat_value_is_constant(bias));
  if (code == MAFAT_OK && constant)
    code = mafat_graph_multiply_constant(i->g, made, &rows, weights, true, bias);
  else if (code == MAFAT_OK) {
    code = mafat_graph_transpose(i->g, &matrix, weights, turned);
    if (code == MAFAT_OK)
      code = mafat_graph_multiply_maps(i->g, bias ? &product : made, &rows, &matrix);
    if (code == MAFAT_OK && bias)
      code = mafat_graph_combine(i->g, made, MAFAT_GRAPH_ADD, &product, bias);
  }
  mafat_value_clear(&rows);
  mafat_value_clear(&matrix);
  mafat_value_clear(&product);
  return code;
}

static int import_dense(struct mafat_tflite_importer *i)
{
  struct mafat_value own, made = {.maker = -1};
  const struct mafat_value *in;
  int code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = multiply(i, &made, in);
  mafat_value_clear(&own);
  return mafat_tflite_finish(i, code, &made, i->o->options.dense.fused);
}

/* Returns input `index` of a matrix product in *out. turned: transposes the last two dimensions
 * (adj_x, adj_y). */
static int read_matrix(struct mafat_tflite_importer *i, int index, bool turned,
                       struct mafat_value *out)
{
  const struct mafat_value *in = mafat_tflite_in(i, index);
  int order[MAFAT_VIEW_DIMS], n = in->view.n_dims;
  if (n < 2)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "input %d: expected at least 2 dimensions, found %d", index, n);
  for (int k = 0; k < n; k++) order[k] = turned && k >= n - 2 ? 2 * n - 3 - k : k;
  return mafat_graph_transpose(i->g, out, in, order);
}

static int import_matmul(struct mafat_tflite_importer *i)
{
  struct mafat_value a = {.maker = -1}, b = {.maker = -1};
  const struct mafat_tflite_matmul *m = &i->o->options.matmul;
  int code = read_matrix(i, 0, m->adj_x, &a);
  if (code == MAFAT_OK) code = read_matrix(i, 1, m->adj_y, &b);
  bool constant = code == MAFAT_OK && a.form == MAFAT_VALUE_MAP && mafat_value_is_constant(&b) &&
                  b.view.n_dims == 2;
  if (constant)
    code = mafat_graph_multiply_constant(i->g, mafat_tflite_out(i, 0), &a, &b, false, NULL);
  else if (code == MAFAT_OK) code = mafat_graph_multiply_maps(i->g, mafat_tflite_out(i, 0), &a, &b);
  mafat_value_clear(&a);
  mafat_value_clear(&b);
  return code;
}

const struct mafat_tflite_row mafat_tflite_layer_rows[] = {
    {MAFAT_TFLITE_CONV_2D, import_conv, 2, 0, true},
    {MAFAT_TFLITE_DEPTHWISE_CONV_2D, import_conv, 2, 1, true},
    {MAFAT_TFLITE_TRANSPOSE_CONV, import_transposed, 3, 0, true},
    {MAFAT_TFLITE_AVERAGE_POOL_2D, import_pool, 1, 1, true},
    {MAFAT_TFLITE_MAX_POOL_2D, import_pool, 1, 0, true},
    {MAFAT_TFLITE_FULLY_CONNECTED, import_dense, 2, 0, true},
    {MAFAT_TFLITE_BATCH_MATMUL, import_matmul, 2, 0, false},
    {0, NULL, 0, 0, false}};
