/* Imports TFLite operators that move or rename elements, or compute shapes. Called by
 * formats/tflite/import.c through its table. Adds layers to the graph. */
#include "formats/tflite/importer.h"

/* ---- views ---- */

static int import_reshape(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  const struct mafat_tflite_dims *option = &i->o->options.dims;
  long long dims[MAFAT_VIEW_DIMS];
  int n = option->n, code = MAFAT_OK;
  for (int k = 0; k < n; k++) dims[k] = option->list[k];
  if (mafat_tflite_in(i, 1)->form != MAFAT_VALUE_NONE)
    code = mafat_tflite_list(i, 1, MAFAT_VIEW_DIMS, dims, &n);
  if (code) return code;
  if (n < 0)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "new_shape: expected a shape, found none");
  return mafat_graph_reshape_open(i->g, mafat_tflite_out(i, 0), in, n, dims);
}

static int import_squeeze(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  const struct mafat_tflite_dims *option = &i->o->options.dims;
  long long dims[MAFAT_VIEW_DIMS];
  bool gone[MAFAT_VIEW_DIMS] = {false};
  int n_dims = 0, dim, code = MAFAT_OK;
  for (int k = 0; k < option->n && code == MAFAT_OK; k++) {
    code = mafat_tflite_dim(i, "squeeze_dims", option->list[k], in->view.n_dims, &dim);
    if (code) return code;
    gone[dim] = true;
    if (in->view.dims[dim] != 1)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "squeeze_dims: dimension %d is %lld: expected 1",
                              dim, in->view.dims[dim]);
  }
  for (int k = 0; k < in->view.n_dims; k++)
    if (!(option->n < 1 ? in->view.dims[k] == 1 : gone[k])) dims[n_dims++] = in->view.dims[k];
  return mafat_graph_reshape(i->g, mafat_tflite_out(i, 0), in, n_dims, dims);
}

static int import_expand_dims(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  long long axis;
  int n, dim, code = mafat_tflite_list(i, 1, 1, &axis, &n);
  if (code == MAFAT_OK && n != 1)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected one axis, found %d", n);
  if (code == MAFAT_OK) code = mafat_tflite_dim(i, "axis", axis, in->view.n_dims + 1, &dim);
  return code ? code : mafat_tflite_insert_dim(i, mafat_tflite_out(i, 0), in, dim);
}

static int import_transpose(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  long long perm[MAFAT_VIEW_DIMS];
  bool seen[MAFAT_VIEW_DIMS] = {false};
  int n, order[MAFAT_VIEW_DIMS] = {0}, code = mafat_tflite_list(i, 1, MAFAT_VIEW_DIMS, perm, &n);
  if (code) return code;
  if (n != in->view.n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "perm: expected %d numbers, found %d",
                            in->view.n_dims, n);
  for (int k = 0; k < n; k++) {
    if ((code = mafat_tflite_dim(i, "perm", perm[k], n, &order[k]))) return code;
    if (seen[order[k]])
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "perm: names %d twice", order[k]);
    seen[order[k]] = true;
  }
  return mafat_graph_transpose(i->g, mafat_tflite_out(i, 0), in, order);
}

/* ---- types, and shapes ---- */

static bool is_whole(enum mafat_tflite_type type)
{
  return type == MAFAT_TFLITE_INT32 || type == MAFAT_TFLITE_INT64;
}

/* True if all readers of the tensor use it as indices, which are truncated anyway. */
static bool is_looked_up(const struct mafat_tflite_importer *i, int tensor)
{
  return i->slots[tensor].lookups == i->slots[tensor].readers;
}

static int import_cast(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  struct mafat_value *out = mafat_tflite_out(i, 0);
  enum mafat_tflite_type from = i->model->tensors[i->o->inputs[0]].type,
                         to = i->model->tensors[i->o->outputs[0]].type;
  if (to == MAFAT_TFLITE_BOOL || from == MAFAT_TFLITE_BOOL)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "casts %s to %s, which is not run",
                            mafat_tflite_type_name((int)from), mafat_tflite_type_name((int)to));
  bool cuts = !is_whole(from) && is_whole(to);
  if (cuts && in->form == MAFAT_VALUE_MAP && !is_looked_up(i, i->o->outputs[0]))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "casts a tensor computed at run time to %s, which is not run",
                            mafat_tflite_type_name((int)to));
  if (cuts && in->form == MAFAT_VALUE_PLACE)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "casts a constant of the file");
  int code = mafat_value_copy(i->g, out, in);
  for (long long k = 0; code == MAFAT_OK && cuts && out->form == MAFAT_VALUE_NUMBERS &&
                        k < mafat_value_elements(out);
       k++)
    out->numbers[k] = trunc(out->numbers[k]);
  return code;
}

static int import_shape_of(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  struct mafat_value *out = mafat_tflite_out(i, 0);
  long long n = in->view.n_dims;
  int code = mafat_value_make_numbers(i->g, out, 1, &n);
  for (int k = 0; k < n && code == MAFAT_OK; k++) out->numbers[k] = (double)in->view.dims[k];
  return code;
}

/* ---- pads ---- */

/* True if the operator pads only rows and columns, and its output is read only by convolutions,
 * which can do this padding themselves. */
static bool can_defer(const struct mafat_tflite_importer *i, const struct mafat_value *in,
                      const long long *before, const long long *after)
{
  const struct mafat_tflite_slot *out = &i->slots[i->o->outputs[0]];
  if (in->form != MAFAT_VALUE_MAP || in->view.n_dims != 4 || out->readers == 0 ||
      out->readers != out->windows)
    return false;
  for (int k = 0; k < 4; k++) {
    bool outer = k == 0 || k == 3;
    if (before[k] < 0 || after[k] < 0 || (outer && (before[k] || after[k]))) return false;
  }
  return true;
}

/* Defers the padding to the convolutions that read the output. */
static int defer(struct mafat_tflite_importer *i, const struct mafat_value *in,
                 const long long *before, const long long *after)
{
  int *pads = i->slots[i->o->outputs[0]].pads;
  pads[0] = (int)before[1], pads[1] = (int)after[1];
  pads[2] = (int)before[2], pads[3] = (int)after[2];
  return mafat_value_copy(i->g, mafat_tflite_out(i, 0), in);
}

/* Reads pads [n][2]: before and after each dimension. */
static int read_pads(struct mafat_tflite_importer *i, int n_dims, long long *before,
                     long long *after)
{
  long long list[2 * MAFAT_VIEW_DIMS];
  int n, code = mafat_tflite_list(i, 1, 2 * MAFAT_VIEW_DIMS, list, &n);
  if (code) return code;
  if (n != 2 * n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "paddings: expected %d numbers, found %d",
                            2 * n_dims, n);
  for (int k = 0; k < n; k++) {
    if (list[k] < 0 || list[k] > MAFAT_MAX_EXTENT)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "paddings: found %lld", list[k]);
    *(k % 2 ? &after[k / 2] : &before[k / 2]) = list[k];
  }
  return MAFAT_OK;
}

/* Reads a constant padding value. Integers are at the output's scale, and maps store them as
 * unsigned bytes. */
static int read_fill(struct mafat_tflite_importer *i, const struct mafat_value *in, float *fill)
{
  const struct mafat_value *declared = mafat_tflite_in(i, 2);
  struct mafat_quantization is = i->g->makes.numbers, numbers;
  bool integers = mafat_value_is_integer(i->g, in);
  double number = 0;
  if (integers != mafat_value_is_quantized(declared))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "constant_values: expected a number of its input's type");
  if (integers) numbers = mafat_value_quantization(declared);
  if (integers && (declared->scales.list.n > 1 || !mafat_quantization_equals(&is, &numbers)))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "constant_values: expected its output's scale and zero point");
  int code = mafat_value_number(i->g, declared, &number);
  *fill = (float)number + (integers && declared->place.type == MAFAT_I8 ? MAFAT_SIGNED_TO_BYTE : 0);
  return code;
}

/* Finds the padding value as maps store it. The default is 0: for integers, the output's zero
 * point. */
static int find_fill(struct mafat_tflite_importer *i, const struct mafat_value *in, float *fill)
{
  *fill = mafat_value_is_integer(i->g, in) ? i->g->makes.numbers.zero : 0;
  return i->o->code == MAFAT_TFLITE_PADV2 ? read_fill(i, in, fill) : MAFAT_OK;
}

/* Finds the rule for reads outside the map. SYMMETRIC is supported for pads of at most 1, where it
 * repeats the edge. For REFLECT, each pad must be smaller than the dimension. */
static int find_outside(struct mafat_tflite_importer *i, const struct mafat_value *in,
                        const long long *before, const long long *after,
                        enum mafat_outside *outside)
{
  bool mirrors = i->o->code == MAFAT_TFLITE_MIRROR_PAD,
       symmetric = mirrors && i->o->options.symmetric;
  *outside = symmetric ? MAFAT_OUTSIDE_EDGE : mirrors ? MAFAT_OUTSIDE_REFLECT : MAFAT_OUTSIDE_FILL;
  for (int k = 0; k < in->view.n_dims && mirrors; k++) {
    long long most = symmetric ? 1 : in->view.dims[k] - 1;
    if (before[k] > most || after[k] > most)
      return mafat_graph_fail(
          i->g, symmetric ? MAFAT_EUNSUPPORTED : MAFAT_EFORMAT,
          "mode: %s: expected paddings of dimension %d of at most %lld, found %lld and %lld",
          symmetric ? "SYMMETRIC" : "REFLECT", k, most, before[k], after[k]);
  }
  return MAFAT_OK;
}

/* Returns the integer that stands for 0 in the map; 0 for floats. */
static float zero_of(const struct mafat_tflite_importer *i, const struct mafat_value *in)
{
  return mafat_value_meaning(i->g, in).numbers.zero;
}

static int import_pad(struct mafat_tflite_importer *i)
{
  struct mafat_value own;
  const struct mafat_value *in;
  long long before[MAFAT_VIEW_DIMS] = {0}, after[MAFAT_VIEW_DIMS] = {0};
  enum mafat_outside outside;
  float fill;
  int code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = read_pads(i, in->view.n_dims, before, after);
  if (code == MAFAT_OK) code = find_fill(i, in, &fill);
  if (code == MAFAT_OK) code = find_outside(i, in, before, after, &outside);
  if (code == MAFAT_OK && outside == MAFAT_OUTSIDE_FILL && fill == zero_of(i, in) &&
      can_defer(i, in, before, after))
    code = defer(i, in, before, after);
  else if (code == MAFAT_OK)
    code = mafat_graph_pad(i->g, mafat_tflite_out(i, 0), in, before, after, outside, fill);
  mafat_value_clear(&own);
  return code;
}

/* ---- depth and space ---- */

/* Reshapes the input to six dimensions, swaps the two middle ones, and reshapes to four. */
static int by_six(struct mafat_tflite_importer *i, const long long *six, const long long *four)
{
  static const int order[] = {0, 1, 3, 2, 4, 5};
  struct mafat_value split = {.maker = -1}, turned = {.maker = -1};
  int code = mafat_graph_reshape(i->g, &split, mafat_tflite_in(i, 0), 6, six);
  if (code == MAFAT_OK) code = mafat_graph_transpose(i->g, &turned, &split, order);
  if (code == MAFAT_OK) code = mafat_graph_reshape(i->g, mafat_tflite_out(i, 0), &turned, 4, four);
  mafat_value_clear(&split);
  mafat_value_clear(&turned);
  return code;
}

static int import_blocks(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  const long long *d = in->view.dims;
  long long b = i->o->options.block_size;
  bool spreads = mafat_tflite_variant(i);
  if (in->view.n_dims != 4 || b > 4096 || (spreads ? d[3] % (b * b) : d[1] % b || d[2] % b))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "block_size: %lld does not divide its input", b);
  if (spreads) {
    const long long six[] = {d[0], d[1], d[2], b, b, d[3] / (b * b)},
                    four[] = {d[0], d[1] * b, d[2] * b, d[3] / (b * b)};
    return by_six(i, six, four);
  }
  const long long six[] = {d[0], d[1] / b, b, d[2] / b, b, d[3]},
                  four[] = {d[0], d[1] / b, d[2] / b, d[3] * b * b};
  return by_six(i, six, four);
}

const struct mafat_tflite_row mafat_tflite_shape_rows[] = {
    {MAFAT_TFLITE_RESHAPE, import_reshape, 1, 0, true},
    {MAFAT_TFLITE_SQUEEZE, import_squeeze, 1, 0, true},
    {MAFAT_TFLITE_EXPAND_DIMS, import_expand_dims, 2, 0, true},
    {MAFAT_TFLITE_TRANSPOSE, import_transpose, 2, 0, true},
    {MAFAT_TFLITE_CAST, import_cast, 1, 0, false},
    {MAFAT_TFLITE_SHAPE, import_shape_of, 1, 0, true},
    {MAFAT_TFLITE_PAD, import_pad, 2, 0, true},
    {MAFAT_TFLITE_PADV2, import_pad, 3, 0, true},
    {MAFAT_TFLITE_MIRROR_PAD, import_pad, 2, 0, true},
    {MAFAT_TFLITE_DEPTH_TO_SPACE, import_blocks, 1, 1, true},
    {MAFAT_TFLITE_SPACE_TO_DEPTH, import_blocks, 1, 0, true},
    {0, NULL, 0, 0, false}};
