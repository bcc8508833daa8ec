/* Adds layers for matrix products, and for the zero insertion of transposed convolutions. Called by
 * the importers in formats/onnx and formats/tflite. Allocates layers in the graph. */
#include "formats/graph/matrices.h"

#include "formats/graph/compute.h"
#include "formats/graph/shape.h"

#include <stdlib.h>
#include <string.h>

static const struct mafat_graph_dims rows_columns_channels = {
    3, {MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C}};

/* ---- products ---- */

/* Makes a feature map of a value: the last dimension becomes channels, the one before columns, all
 * others rows. */
static int lay_matrix(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in)
{
  int axes[MAFAT_VIEW_DIMS];
  mafat_view_usual_axes(in->view.n_dims, axes);
  if (mafat_value_is_constant(in)) return mafat_graph_constant_map(g, out, in, axes);
  return mafat_graph_lay(g, out, in, axes);
}

/* True if the value is one row whose elements are a whole map of several pixels, in the order
 * height, width, channels. A convolution whose window is the whole map can then compute the
 * product. */
static bool is_whole_map(const struct mafat_value *v)
{
  static const int axes[] = {MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C};
  const long long dims[] = {v->shape.h, v->shape.w, v->shape.c};
  struct mafat_view view;
  long long e[MAFAT_N_AXES];
  if (mafat_value_elements(v) != v->view.dims[v->view.n_dims - 1] || v->shape.h * v->shape.w == 1)
    return false;
  mafat_view_lay(&view, 3, dims, axes, e);
  return mafat_view_reshape(&view, &view, v->view.n_dims, v->view.dims) &&
         mafat_view_equals(&view, &v->view);
}

/* Returns the value of mafat_graph_conv.single: true if the weights have one scale for all filters
 * (network/quantization.h). */
static bool single(const struct mafat_value *weights)
{
  return weights->scales.list.n == 1;
}

/* Computes the product as a convolution with a window over the whole map, so that the input need
 * not be copied to another layout. */
static int convolve_whole(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_value *a, const struct mafat_value *b, bool transposed,
                          int filters, const struct mafat_value *bias)
{
  const struct mafat_window window = {{a->shape.h, 1, 1, 0, 0}, {a->shape.w, 1, 1, 0, 0}};
  const struct mafat_graph_conv conv = {
      window, 1,        filters, b, bias, transposed ? MAFAT_ORDER_FILTERS_TAPS : MAFAT_ORDER_TAPS,
      false,  single(b)};
  return mafat_graph_convolve(g, out, a, &conv, &rows_columns_channels);
}

static int convolve_rows(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *a, const struct mafat_value *b, bool transposed,
                         int filters, const struct mafat_value *bias)
{
  struct mafat_value in = {.maker = -1};
  const struct mafat_graph_conv conv = {mafat_window_square(1, 1, 0),
                                        1, filters, b, bias,
                                        transposed ? MAFAT_ORDER_FILTERS : MAFAT_ORDER_INPUTS,
                                        false,
                                        single(b)};
  int code = lay_matrix(g, &in, a);
  if (code == MAFAT_OK) code = mafat_graph_convolve(g, out, &in, &conv, &rows_columns_channels);
  mafat_value_clear(&in);
  return code;
}

int mafat_graph_multiply_constant(struct mafat_graph *g, struct mafat_value *out,
                                  const struct mafat_value *a, const struct mafat_value *b,
                                  bool transposed, const struct mafat_value *bias)
{
  enum { MOST_TAPS = 1 << 12 };
  struct mafat_value product = {.maker = -1};
  int last = a->view.n_dims - 1;
  long long inputs = b->view.dims[transposed], filters = b->view.dims[!transposed],
            dims[MAFAT_VIEW_DIMS];
  if (last < 0 || b->view.n_dims != 2 || a->view.dims[last] != inputs || filters > MAFAT_MAX_EXTENT)
    return mafat_graph_fail(g, MAFAT_EFORMAT,
                            "cannot multiply rows of %lld by a matrix of %lld x %lld",
                            last < 0 ? 0 : a->view.dims[last], inputs, filters);
  bool whole = (long long)a->shape.h * a->shape.w <= MOST_TAPS && is_whole_map(a);
  int code = whole ? convolve_whole(g, &product, a, b, transposed, (int)filters, bias)
                   : convolve_rows(g, &product, a, b, transposed, (int)filters, bias);
  memcpy(dims, a->view.dims, sizeof dims);
  dims[last] = filters;
  if (code == MAFAT_OK) code = mafat_graph_reshape(g, out, &product, a->view.n_dims, dims);
  mafat_value_clear(&product);
  return code;
}

/* Sets dims[] to the dimensions of the product, and returns their number. If a dimension before the
 * last two is 1 in one factor, it is that of the other factor. */
static int product_dims(const struct mafat_value *a, const struct mafat_value *b, long long *dims)
{
  int n = a->view.n_dims > b->view.n_dims ? a->view.n_dims : b->view.n_dims;
  for (int k = 0; k < n; k++) {
    int ka = k - (n - a->view.n_dims), kb = k - (n - b->view.n_dims);
    long long da = ka < 0 ? 1 : a->view.dims[ka], db = kb < 0 ? 1 : b->view.dims[kb];
    dims[k] = k == n - 2 ? da : k == n - 1 ? db : da > db ? da : db;
  }
  return n;
}

static int multiply_laid(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *x, const struct mafat_value *y)
{
  if (x->shape.c != y->shape.w || (x->shape.h != y->shape.h && x->shape.h != 1 && y->shape.h != 1))
    return mafat_graph_fail(g, MAFAT_EFORMAT,
                            "cannot multiply %d matrices of %d x %d by %d of %d x %d", x->shape.h,
                            x->shape.w, x->shape.c, y->shape.h, y->shape.w, y->shape.c);
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_MATMUL, x);
  int code = l ? mafat_graph_add_operand(g, l, y) : MAFAT_EUNSUPPORTED;
  if (code) return code;
  l->alpha = 1;
  code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output_on(g, out, l, &rows_columns_channels);
}

int mafat_graph_multiply_maps(struct mafat_graph *g, struct mafat_value *out,
                              const struct mafat_value *a, const struct mafat_value *b)
{
  struct mafat_value x = {.maker = -1}, y = {.maker = -1}, product = {.maker = -1};
  long long dims[MAFAT_VIEW_DIMS];
  if (a->view.n_dims < 2 || b->view.n_dims < 2)
    return mafat_graph_fail(g, MAFAT_EFORMAT, "expected inputs of at least 2 dimensions");
  int n = product_dims(a, b, dims), code = lay_matrix(g, &x, a);
  if (code == MAFAT_OK) code = lay_matrix(g, &y, b);
  if (code == MAFAT_OK) code = multiply_laid(g, &product, &x, &y);
  if (code == MAFAT_OK) code = mafat_graph_reshape(g, out, &product, n, dims);
  mafat_value_clear(&x);
  mafat_value_clear(&y);
  mafat_value_clear(&product);
  return code;
}

/* ---- transposed convolutions ---- */

/* Returns how many of n input elements fit into s->size; later ones are dropped. */
static int fitting(const struct mafat_graph_spread *s, int n)
{
  long long fit = s->first < s->size ? (s->size - 1 - s->first) / s->stride + 1 : 0;
  return fit < n ? (int)fit : n;
}

static void add_atom(struct mafat_part *p, int axis, int n, long long stride)
{
  if (n > 1)
    p->atoms[p->n_atoms++] =
        (struct mafat_atom){n, (signed char)axis, (int)stride, (signed char)axis, 1};
}

int mafat_graph_spread(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                       const struct mafat_graph_spread *rows,
                       const struct mafat_graph_spread *columns,
                       const struct mafat_graph_dims *dims)
{
  int h = fitting(rows, in->shape.h), w = fitting(columns, in->shape.w);
  if (rows->first < 0 || columns->first < 0 || rows->size > MAFAT_MAX_EXTENT ||
      columns->size > MAFAT_MAX_EXTENT || h < 1 || w < 1)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "a map of %d x %d cannot be spread over %lld x %lld", in->shape.h,
                            in->shape.w, rows->size, columns->size);
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_REARRANGE, in);
  if (!l) return MAFAT_EUNSUPPORTED;
  l->rearrange = calloc(1, sizeof *l->rearrange + sizeof *l->rearrange->parts);
  if (!l->rearrange) return mafat_graph_fail_memory(g);
  struct mafat_part *p = l->rearrange->parts;
  l->rearrange->shape = (struct mafat_shape){(int)rows->size, (int)columns->size, in->shape.c};
  l->rearrange->n_parts = 1;
  l->rearrange->fill = mafat_value_meaning(g, in).numbers.zero;
  p->out_first[MAFAT_AXIS_H] = (int)rows->first;
  p->out_first[MAFAT_AXIS_W] = (int)columns->first;
  add_atom(p, MAFAT_AXIS_H, h, rows->stride);
  add_atom(p, MAFAT_AXIS_W, w, columns->stride);
  add_atom(p, MAFAT_AXIS_C, in->shape.c, 1);
  int code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output_on(g, out, l, dims);
}
