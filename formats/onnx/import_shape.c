/* Imports ONNX operators that move or rename elements, or compute shapes. Called by formats/onnx
 * (import.c, computing.c, integers.c) through the table of operators. Adds layers to the graph, or
 * computes constants. */
#include "formats/onnx/importer.h"

#include <limits.h>

/* ---- copies and casts ---- */

static int import_same(struct mafat_onnx_importer *i)
{
  return mafat_value_copy(i->g, mafat_onnx_out(i, 0), mafat_onnx_in(i, 0));
}

/* Dropout is the identity, except in training mode. */
static int import_dropout(struct mafat_onnx_importer *i)
{
  double drops = 0;
  int code =
      mafat_onnx_has(i, 2) ? mafat_value_number(i->g, mafat_onnx_in(i, 2), &drops) : MAFAT_OK;
  if (code) return code;
  if (drops != 0 || mafat_onnx_wants(i, 1))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "training mode is not supported");
  return import_same(i);
}

/* Casts a float map to uint8 by removing fractions. The result of ONNX is undefined for negative
 * numbers; here they become 0. */
static int cut_map(struct mafat_onnx_importer *i, const struct mafat_value *in)
{
  struct mafat_value reals = {.maker = -1};
  int code = mafat_graph_activate(i->g, &reals, in, mafat_activating(MAFAT_RELU));
  if (code == MAFAT_OK)
    code = mafat_graph_activate(i->g, mafat_onnx_out(i, 0), &reals, mafat_activating(MAFAT_FLOOR));
  mafat_value_clear(&reals);
  return code;
}

/* Truncates constants. */
static int cut_numbers(struct mafat_onnx_importer *i, struct mafat_value *out,
                       const struct mafat_value *in)
{
  enum { MOST = 1 << 22 };
  double *numbers, one;
  if (in->form == MAFAT_VALUE_PLACE && in->place.file == MAFAT_CONSTANT_FILL) {
    int code = mafat_graph_read_numbers(i->g, &in->place, 1, &one);
    if (code == MAFAT_OK) code = mafat_value_copy(i->g, out, in);
    if (code == MAFAT_OK) out->place = mafat_constant_fill((float)trunc(one), in->place.n);
    return code;
  }
  int code = mafat_value_numbers(i->g, in, MOST, &numbers);
  if (code) return code;
  code = mafat_value_make_numbers(i->g, out, in->view.n_dims, in->view.dims);
  for (long long k = 0; code == MAFAT_OK && k < mafat_value_elements(out); k++)
    out->numbers[k] = trunc(numbers[k]);
  free(numbers);
  return code;
}

static int import_cast(struct mafat_onnx_importer *i)
{
  long long to;
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  int code = mafat_onnx_int(i, "to", MAFAT_ONNX_FLOAT, &to);
  bool whole = to == MAFAT_ONNX_INT64 || to == MAFAT_ONNX_INT32,
       floats = to == MAFAT_ONNX_FLOAT || to == MAFAT_ONNX_DOUBLE;
  if (code) return code;
  if (in->form == MAFAT_VALUE_MAP && to == MAFAT_ONNX_UINT8) return cut_map(i, in);
  if (!whole && !floats)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "casts to %s: expected float or int64",
                            mafat_onnx_type_name((int)to));
  if (in->form == MAFAT_VALUE_MAP && whole)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "casts a tensor computed at run time to %s",
                            mafat_onnx_type_name((int)to));
  struct mafat_value *out = mafat_onnx_out(i, 0);
  bool cuts = whole && mafat_value_is_constant(in) && !mafat_onnx_is_whole(i, 0);
  return cuts ? cut_numbers(i, out, in) : mafat_value_copy(i->g, out, in);
}

static int import_reshape(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  long long dims[MAFAT_VIEW_DIMS], keep;
  int n, code = mafat_onnx_list(i, "shape", 1, MAFAT_VIEW_DIMS, dims, &n);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "allowzero", 0, &keep);
  if (code) return code;
  if (n < 0) return mafat_graph_fail(i->g, MAFAT_EFORMAT, "has no shape");
  for (int k = 0; k < n; k++)
    if (dims[k] == 0 && !keep && k < in->view.n_dims) dims[k] = in->view.dims[k];
  return mafat_graph_reshape_open(i->g, mafat_onnx_out(i, 0), in, n, dims);
}

static int import_flatten(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  long long axis, dims[2] = {1, 1};
  int n = in->view.n_dims, code = mafat_onnx_int(i, "axis", 1, &axis);
  if (code) return code;
  if (axis < -n || axis > n)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute axis: expected %d to %d, found %lld",
                            -n, n, axis);
  if (axis < 0) axis += n;
  for (int k = 0; k < n; k++) dims[k >= axis] *= in->view.dims[k];
  return mafat_graph_reshape(i->g, mafat_onnx_out(i, 0), in, 2, dims);
}

static int import_squeeze(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  long long axes[MAFAT_VIEW_DIMS], dims[MAFAT_VIEW_DIMS];
  bool gone[MAFAT_VIEW_DIMS] = {false};
  int n, n_dims = 0, axis, code = mafat_onnx_list(i, "axes", 1, MAFAT_VIEW_DIMS, axes, &n);
  if (code) return code;
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    if ((code = mafat_onnx_axis(i, axes[k], in->view.n_dims, &axis))) break;
    gone[axis] = true; /* duplicates are allowed, as in onnxruntime */
    if (in->view.dims[axis] != 1)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "dimension %d is %lld: expected 1", axis,
                              in->view.dims[axis]);
  }
  if (code) return code;
  for (int k = 0; k < in->view.n_dims; k++)
    if (!(n < 0 ? in->view.dims[k] == 1 : gone[k])) dims[n_dims++] = in->view.dims[k];
  return mafat_graph_reshape(i->g, mafat_onnx_out(i, 0), in, n_dims, dims);
}

static int import_unsqueeze(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  long long axes[MAFAT_VIEW_DIMS], dims[MAFAT_VIEW_DIMS];
  bool new[MAFAT_VIEW_DIMS] = {false};
  int n, axis, next = 0, code = mafat_onnx_list(i, "axes", 1, MAFAT_VIEW_DIMS, axes, &n);
  if (code) return code;
  if (n < 0 || in->view.n_dims + n > MAFAT_VIEW_DIMS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "attribute axes: expected up to %d dimensions in all", MAFAT_VIEW_DIMS);
  int all = in->view.n_dims + n;
  for (int k = 0; k < n; k++)
    if ((code = mafat_onnx_axis_of_list(i, axes[k], all, new, &axis))) return code;
  for (int k = 0; k < all; k++) dims[k] = new[k] ? 1 : in->view.dims[next++];
  return mafat_graph_reshape(i->g, mafat_onnx_out(i, 0), in, all, dims);
}

static int import_transpose(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  long long perm[MAFAT_VIEW_DIMS];
  bool seen[MAFAT_VIEW_DIMS] = {false};
  int n, order[MAFAT_VIEW_DIMS] = {0}, n_dims = in->view.n_dims,
         code = mafat_onnx_ints(i, "perm", MAFAT_VIEW_DIMS, perm, &n);
  if (code) return code;
  if (n >= 0 && n != n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute perm: expected %d numbers, found %d",
                            n_dims, n);
  for (int k = 0; k < n_dims; k++)
    if ((code =
             mafat_onnx_axis_of_list(i, n < 0 ? n_dims - 1 - k : perm[k], n_dims, seen, &order[k])))
      return code;
  return mafat_graph_transpose(i->g, mafat_onnx_out(i, 0), in, order);
}

/* ---- slices ---- */

static int import_concat(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in[MAFAT_MAX_OPERANDS];
  long long axis;
  int dim, n = mafat_onnx_n_inputs(i), code = mafat_onnx_int(i, "axis", 1, &axis);
  if (n < 1 || n > MAFAT_MAX_OPERANDS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected 1 to %d inputs, found %d",
                            MAFAT_MAX_OPERANDS, n);
  for (int k = 0; k < n; k++) in[k] = mafat_onnx_in(i, k);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in[0]->view.n_dims, &dim);
  return code ? code : mafat_graph_concat(i->g, mafat_onnx_out(i, 0), in, n, dim);
}

static int import_split(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  struct mafat_value *outs[MAFAT_ONNX_MOST_PARTS];
  long long axis, sizes[MAFAT_ONNX_MOST_PARTS], first = 0;
  int dim = 0, n, n_parts = i->node->n_outputs, code = mafat_onnx_int(i, "axis", 0, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, in->view.n_dims, &dim);
  if (code == MAFAT_OK) code = mafat_onnx_list(i, "split", 1, MAFAT_ONNX_MOST_PARTS, sizes, &n);
  if (code) return code;
  long long all = in->view.dims[dim], each = (all + n_parts - 1) / n_parts;
  for (int k = 0; n < 0 && k < n_parts; k++)
    sizes[k] = k < n_parts - 1 ? each : all - each * (n_parts - 1);
  if (n >= 0 && n != n_parts)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d sizes, one for each output, found %d",
                            n_parts, n);
  for (int k = 0; k < n_parts; first += sizes[k++]) {
    if (sizes[k] < 1 || sizes[k] > all - first)
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                              "part %d: expected 1 to %lld elements along axis %d, found %lld", k,
                              all - first, dim, sizes[k]);
    outs[k] = mafat_onnx_wants(i, k) ? mafat_onnx_out(i, k) : NULL;
  }
  return mafat_graph_split(i->g, outs, in, dim, sizes, n_parts);
}

struct onnx_slice {
  long long start, end, step;
};

/* Finds the first index and the number of indices of a slice, by NumPy's rules: negative positions
 * count from the end, and positions out of range are clamped. */
static int find_slice(struct mafat_onnx_importer *i, struct onnx_slice s, long long extent,
                      long long *first, long long *n)
{
  if (s.step == 0 || s.step == LLONG_MIN)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "slices with a step of %lld", s.step);
  long long least = s.step > 0 ? 0 : -1, most = s.step > 0 ? extent : extent - 1;
  if (s.start < 0) s.start += extent;
  if (s.end < 0) s.end = s.end < -extent ? -1 - (s.step > 0) : s.end + extent;
  s.start = s.start < least ? (s.step > 0 ? 0 : -1) : s.start > most ? most : s.start;
  s.end = s.end < least ? least : s.end > most ? most : s.end;
  long long reach = s.step > 0 ? s.end - s.start : s.start - s.end,
            step = s.step > 0 ? s.step : -s.step;
  *first = s.start;
  *n = reach > 0 ? (reach - 1) / step + 1 : 0;
  /* a shape may become empty */
  if (*n > 0 || mafat_value_is_constant(mafat_onnx_in(i, 0))) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "a slice of %lld elements is empty", extent);
}

static int import_slice(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  long long starts[MAFAT_VIEW_DIMS], ends[MAFAT_VIEW_DIMS], axes[MAFAT_VIEW_DIMS],
      steps[MAFAT_VIEW_DIMS];
  bool seen[MAFAT_VIEW_DIMS] = {false};
  int n, n_ends, n_axes, n_steps,
      code = mafat_onnx_list(i, "starts", 1, MAFAT_VIEW_DIMS, starts, &n);
  if (code == MAFAT_OK) code = mafat_onnx_list(i, "ends", 2, MAFAT_VIEW_DIMS, ends, &n_ends);
  if (code == MAFAT_OK) code = mafat_onnx_list(i, "axes", 3, MAFAT_VIEW_DIMS, axes, &n_axes);
  if (code == MAFAT_OK) code = mafat_onnx_list(i, "steps", 4, MAFAT_VIEW_DIMS, steps, &n_steps);
  if (code) return code;
  if (n < 0 || n_ends != n || (n_axes >= 0 && n_axes != n) || (n_steps >= 0 && n_steps != n) ||
      (n_axes < 0 && n > in->view.n_dims))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected as many starts, ends, axes and steps, found %d, %d, %d, %d",
                            n, n_ends, n_axes, n_steps);
  struct mafat_value at = {.maker = -1}, next = {.maker = -1};
  code = mafat_value_copy(i->g, &at, in);
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    int dim;
    long long first = 0, count = 0;
    struct onnx_slice s = {starts[k], ends[k], n_steps < 0 ? 1 : steps[k]};
    code = mafat_onnx_axis_of_list(i, n_axes < 0 ? k : axes[k], in->view.n_dims, seen, &dim);
    if (code == MAFAT_OK) code = find_slice(i, s, at.view.dims[dim], &first, &count);
    if (code == MAFAT_OK) code = mafat_graph_slice(i->g, &next, &at, dim, first, count, s.step);
    mafat_value_clear(&at);
    at = next;
    next = (struct mafat_value){.maker = -1};
  }
  if (code == MAFAT_OK) *mafat_onnx_out(i, 0) = at;
  else mafat_value_clear(&at);
  return code;
}

static int pad(struct mafat_onnx_importer *i, const struct mafat_value *in, const long long *pads,
               enum mafat_outside outside, float fill)
{
  bool left = false, reals = !mafat_value_is_integer(i->g, in) || mafat_onnx_is_dequantized(i, 0);
  int n = in->view.n_dims, code = MAFAT_OK, number = (int)fmaxf(fminf(fill, 255), -128);
  if (outside == MAFAT_OUTSIDE_FILL && fill == (reals ? 0 : (float)number))
    code = mafat_onnx_leave_pads(i, in, pads, reals ? NULL : &number, &left);
  if (code || left) return code;
  if (mafat_value_is_integer(i->g, in)) mafat_onnx_fill_number(i, in, fill, &fill);
  return mafat_graph_pad(i->g, mafat_onnx_out(i, 0), in, pads, pads + n, outside, fill);
}

static int import_pad(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in;
  struct mafat_value own;
  long long pads[2 * MAFAT_VIEW_DIMS];
  const char *mode;
  float fill;
  int n, code = mafat_onnx_list(i, mafat_onnx_attribute(i->node, "paddings") ? "paddings" : "pads",
                                1, 2 * MAFAT_VIEW_DIMS, pads, &n);
  if (code == MAFAT_OK) code = mafat_onnx_string(i, "mode", "constant", &mode);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "value", 0, &fill);
  if (code) return code;
  if (mafat_onnx_has(i, 2)) {
    double number;
    if ((code = mafat_value_number(i->g, mafat_onnx_in(i, 2), &number))) return code;
    fill = (float)number;
  }
  if (mafat_onnx_has(i, 3))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "pads with axes are not run");
  enum mafat_outside outside = strcmp(mode, "reflect") == 0 ? MAFAT_OUTSIDE_REFLECT
                               : strcmp(mode, "edge") == 0  ? MAFAT_OUTSIDE_EDGE
                                                            : MAFAT_OUTSIDE_FILL;
  if (outside == MAFAT_OUTSIDE_FILL && strcmp(mode, "constant") != 0)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "attribute mode: expected constant, reflect or edge, found '%.40s'",
                            mode);
  if ((code = mafat_onnx_map(i, 0, &own, &in))) return code;
  if (n != 2 * in->view.n_dims)
    code =
        mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d pads, found %d", 2 * in->view.n_dims, n);
  for (int k = 0; k < n && code == MAFAT_OK; k++)
    if (pads[k] > MAFAT_MAX_EXTENT || pads[k] < -MAFAT_MAX_EXTENT)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "pads by %lld", pads[k]);
  if (code == MAFAT_OK) code = pad(i, in, pads, outside, fill);
  mafat_value_clear(&own);
  return code;
}

/* ---- depth and space ---- */

/* Reshapes [1, c, h, w] to six dimensions, transposes, and reshapes to four. */
static int by_six(struct mafat_onnx_importer *i, const long long *six, const int *order,
                  const long long *four)
{
  struct mafat_value split = {.maker = -1}, turned = {.maker = -1};
  int code = mafat_graph_reshape(i->g, &split, mafat_onnx_in(i, 0), 6, six);
  if (code == MAFAT_OK) code = mafat_graph_transpose(i->g, &turned, &split, order);
  if (code == MAFAT_OK) code = mafat_graph_reshape(i->g, mafat_onnx_out(i, 0), &turned, 4, four);
  mafat_value_clear(&split);
  mafat_value_clear(&turned);
  return code;
}

static int import_blocks(struct mafat_onnx_importer *i)
{
  static const int crd[] = {0, 1, 4, 2, 5, 3}, dcr[] = {0, 3, 4, 1, 5, 2},
                   to_depth[] = {0, 3, 5, 1, 2, 4};
  const long long *d = mafat_onnx_in(i, 0)->view.dims;
  long long b;
  const char *mode;
  bool spreads = mafat_onnx_variant(i);
  int code = mafat_onnx_int(i, "blocksize", 0, &b);
  if (code == MAFAT_OK) code = mafat_onnx_string(i, "mode", "DCR", &mode);
  if (code) return code;
  if (mafat_onnx_in(i, 0)->view.n_dims != 4 || b < 1 || b > 4096 ||
      (spreads ? d[1] % (b * b) : d[2] % b || d[3] % b))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "attribute blocksize: %lld does not divide its input", b);
  if (!spreads) {
    const long long six[] = {d[0], d[1], d[2] / b, b, d[3] / b, b},
                    four[] = {d[0], d[1] * b * b, d[2] / b, d[3] / b};
    return by_six(i, six, to_depth, four);
  }
  if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "attribute mode: expected DCR or CRD, found '%.40s'", mode);
  long long c = d[1] / (b * b);
  const long long four[] = {d[0], c, d[2] * b, d[3] * b};
  const long long six_crd[] = {d[0], c, b, b, d[2], d[3]}, six_dcr[] = {d[0], b, b, c, d[2], d[3]};
  return strcmp(mode, "CRD") == 0 ? by_six(i, six_crd, crd, four) : by_six(i, six_dcr, dcr, four);
}

/* ---- shapes and constants ---- */

/* Reads an attribute that is the index of a dimension. Negative values count from the end; values
 * out of range are clamped. */
static int read_end(const struct mafat_onnx_importer *i, const char *name, int otherwise,
                    int n_dims, int *dim)
{
  long long at;
  int code = mafat_onnx_int(i, name, otherwise, &at);
  if (at < 0) at = at < -n_dims ? 0 : at + n_dims;
  *dim = at > n_dims ? n_dims : (int)at;
  return code;
}

/* Makes a constant of all dimensions, or of [start, end). */
static int import_shape_of(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  struct mafat_value *out = mafat_onnx_out(i, 0);
  int n_dims = in->view.n_dims, start, end, code = read_end(i, "start", 0, n_dims, &start);
  if (code == MAFAT_OK) code = read_end(i, "end", n_dims, n_dims, &end);
  if (code) return code;
  long long n = end > start ? end - start : 0;
  code = mafat_value_make_numbers(i->g, out, 1, &n);
  for (int k = 0; k < n && code == MAFAT_OK; k++)
    out->numbers[k] = (double)in->view.dims[start + k];
  return code;
}

static int import_size_of(struct mafat_onnx_importer *i)
{
  struct mafat_value *out = mafat_onnx_out(i, 0);
  int code = mafat_value_make_numbers(i->g, out, 0, NULL);
  if (code == MAFAT_OK) *out->numbers = (double)mafat_value_elements(mafat_onnx_in(i, 0));
  return code;
}

static int import_constant(struct mafat_onnx_importer *i)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(i->node, "value");
  struct mafat_value *out = mafat_onnx_out(i, 0);
  if (a && a->type == MAFAT_ONNX_ATTRIBUTE_TENSOR) return mafat_onnx_constant(i, out, a->as.t);
  const struct mafat_onnx_attribute *list = i->node->n_attributes == 1 ? i->node->attributes : NULL;
  bool ints = list && list->type == MAFAT_ONNX_ATTRIBUTE_INTS,
       floats = list && list->type == MAFAT_ONNX_ATTRIBUTE_FLOATS;
  bool one =
      list && (list->type == MAFAT_ONNX_ATTRIBUTE_INT || list->type == MAFAT_ONNX_ATTRIBUTE_FLOAT);
  if (!ints && !floats && !one)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected an attribute value of numbers");
  long long n = one ? 1 : list->n;
  int code = mafat_value_make_numbers(i->g, out, !one, &n);
  for (int k = 0; k < n && code == MAFAT_OK; k++)
    out->numbers[k] = ints                                     ? (double)list->as.ints[k]
                      : floats                                 ? (double)list->as.floats[k]
                      : list->type == MAFAT_ONNX_ATTRIBUTE_INT ? (double)list->as.i
                                                               : (double)list->as.f;
  return code;
}

static int import_fill(struct mafat_onnx_importer *i)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(i->node, "value");
  struct mafat_value *out = mafat_onnx_out(i, 0);
  long long dims[MAFAT_VIEW_DIMS], n = 1;
  double value = 0;
  int n_dims = 0,
      code = mafat_value_integers(i->g, mafat_onnx_in(i, 0), MAFAT_VIEW_DIMS, dims, &n_dims);
  if (code == MAFAT_OK && a && a->type == MAFAT_ONNX_ATTRIBUTE_TENSOR)
    code = mafat_onnx_tensor_doubles(i->model, a->as.t, 0, 1, &value, i->g->d);
  for (int k = 0; k < n_dims && code == MAFAT_OK; k++)
    if (dims[k] < 1 || __builtin_mul_overflow(n, dims[k], &n) || n >= 1LL << 38)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "dimension %d is %lld", k, dims[k]);
  if (code) return code;
  *out = (struct mafat_value){.form = MAFAT_VALUE_PLACE,
                              .maker = -1,
                              .place = mafat_constant_fill((float)value, (uint64_t)n)};
  mafat_view_linear(&out->view, n_dims, dims, MAFAT_AXIS_NUMBERS);
  /* all elements are equal */
  for (int k = 0; k < out->view.n_atoms; k++) out->view.atoms[k].step = 0;
  out->place.n = 1;
  return MAFAT_OK;
}

static int import_expand(struct mafat_onnx_importer *i)
{
  struct mafat_value ones = {.maker = -1}, own;
  const struct mafat_value *in;
  long long dims[MAFAT_VIEW_DIMS], wanted[MAFAT_VIEW_DIMS], longer[MAFAT_VIEW_DIMS];
  int n, code = mafat_value_integers(i->g, mafat_onnx_in(i, 1), MAFAT_VIEW_DIMS, wanted, &n);
  if (code == MAFAT_OK) code = mafat_onnx_map(i, 0, &own, &in);
  if (code) return code;
  int all = n > in->view.n_dims ? n : in->view.n_dims;
  for (int k = 0; k < all; k++) {
    int own_dim = k - (all - in->view.n_dims), w = k - (all - n);
    longer[k] = own_dim < 0 ? 1 : in->view.dims[own_dim];
    dims[k] = w >= 0 && wanted[w] != 1 ? wanted[w] : longer[k];
  }
  code = mafat_graph_reshape(i->g, &ones, in, all, longer);
  if (code == MAFAT_OK) code = mafat_graph_expand(i->g, mafat_onnx_out(i, 0), &ones, dims);
  mafat_value_clear(&ones);
  mafat_value_clear(&own);
  return code;
}

const struct mafat_onnx_operator mafat_onnx_shape_operators[] = {
    {"Identity", import_same, 0},       {"Dropout", import_dropout, 0},
    {"Cast", import_cast, 0},           {"Reshape", import_reshape, 0},
    {"Flatten", import_flatten, 0},     {"Squeeze", import_squeeze, 0},
    {"Unsqueeze", import_unsqueeze, 0}, {"Transpose", import_transpose, 0},
    {"Concat", import_concat, 0},       {"Split", import_split, 0},
    {"Slice", import_slice, 0},         {"Pad", import_pad, 0},
    {"DepthToSpace", import_blocks, 1}, {"SpaceToDepth", import_blocks, 0},
    {"Shape", import_shape_of, 0},      {"Size", import_size_of, 0},
    {"Constant", import_constant, 0},   {"ConstantOfShape", import_fill, 0},
    {"Expand", import_expand, 0},       {NULL, NULL, 0}};
