/* Reads and checks the quantization parameters that nodes declare, and dequantizes constants.
 * Called by the importers in formats/onnx. Reads constants of the model's files; adds layers to the
 * graph, and values to the network. */
#include "formats/onnx/importer.h"

#include "formats/graph/places.h"

enum { MOST_SCALES = 1 << 20 };

/* ---- types ---- */

int mafat_onnx_file_type(enum mafat_dtype type)
{
  switch (type) {
  case MAFAT_I8: return MAFAT_ONNX_INT8;
  case MAFAT_U8: return MAFAT_ONNX_UINT8;
  case MAFAT_I32: return MAFAT_ONNX_INT32;
  default: return MAFAT_ONNX_FLOAT;
  }
}

int mafat_onnx_constant_type(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  if (v->initializer) return v->initializer->type;
  if (i->values[v->index].form == MAFAT_VALUE_PLACE)
    return mafat_onnx_file_type((enum mafat_dtype)i->values[v->index].place.type);
  const struct mafat_onnx_node *maker = v->node >= 0 ? &i->model->nodes[v->node] : NULL;
  const struct mafat_onnx_attribute *a = maker && strcmp(maker->op_type, "Constant") == 0
                                             ? mafat_onnx_attribute(maker, "value")
                                             : NULL;
  return a && a->type == MAFAT_ONNX_ATTRIBUTE_TENSOR ? a->as.t->type : MAFAT_ONNX_UNDEFINED;
}

enum mafat_dtype mafat_onnx_whole_type(int type)
{
  switch (type) {
  case MAFAT_ONNX_INT8: return MAFAT_I8;
  case MAFAT_ONNX_UINT8: return MAFAT_U8;
  case MAFAT_ONNX_INT32: return MAFAT_I32;
  default: return MAFAT_N_DTYPES;
  }
}

/* ---- declared parameters ---- */

/* Reads a list or a scalar; *n: its length. */
static int read_list(const struct mafat_onnx_importer *i, int index, const char *what,
                     double **list, long long *n)
{
  const struct mafat_value *v = mafat_onnx_in(i, index);
  if (v->form == MAFAT_VALUE_NONE)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "its %s is left out", what);
  if (v->form == MAFAT_VALUE_MAP)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "%s: expected a constant, found a tensor computed at run time", what);
  *n = mafat_value_elements(v);
  if (v->view.n_dims > 1 || *n < 1)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "%s: expected one number or a list, found %lld in %d dimensions", what,
                            *n, v->view.n_dims);
  return mafat_value_numbers(i->g, v, MOST_SCALES, list);
}

static int read_scales(const struct mafat_onnx_importer *i, int index,
                       struct mafat_onnx_declared *declared)
{
  double *list;
  int code = read_list(i, index, "scale", &list, &declared->n);
  if (code) return code;
  const struct mafat_onnx_value *v = i->node->inputs[index];
  int type = mafat_onnx_constant_type(i, v);
  if (type != MAFAT_ONNX_FLOAT && type != MAFAT_ONNX_UNDEFINED)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "scale: expected one of type float, found %s",
                            mafat_onnx_type_name(type));
  for (long long k = 0; k < declared->n && code == MAFAT_OK; k++)
    if (!(list[k] > 0 && isfinite((float)list[k])))
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                              "scale %lld: expected a finite number above 0, found %g", k, list[k]);
  declared->scale = (float)list[0];
  free(list);
  return code;
}

/* Checks the range, because the fields of a tensor could hold larger values than its type. */
static int check_zero(const struct mafat_onnx_importer *i, int type, double zero)
{
  int least = type == MAFAT_ONNX_INT8 ? INT8_MIN : 0,
      most = type == MAFAT_ONNX_INT8 ? INT8_MAX : UINT8_MAX;
  if (zero >= least && zero <= most) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EFORMAT, "zero point: expected %d to %d, found %.12g", least,
                          most, zero);
}

static int read_zeros(const struct mafat_onnx_importer *i, int index,
                      struct mafat_onnx_declared *declared)
{
  double *list;
  long long n;
  if (!mafat_onnx_has(i, index)) return MAFAT_OK; /* default 0 */
  int type = mafat_onnx_constant_type(i, i->node->inputs[index]),
      code = read_list(i, index, "zero point", &list, &n);
  if (code) return code;
  if (mafat_onnx_whole_type(type) == MAFAT_N_DTYPES)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "zero point: expected one of type int8 or uint8, found %s",
                            mafat_onnx_type_name(type));
  else if (declared->type != MAFAT_ONNX_UNDEFINED && type != declared->type)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "zero point: expected one of type %s, as its numbers are, found %s",
                            mafat_onnx_type_name(declared->type), mafat_onnx_type_name(type));
  else if (n != declared->n)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected as many zero points as scales, found %lld and %lld", n,
                            declared->n);
  for (long long k = 0; k < n && code == MAFAT_OK; k++) {
    if (type != MAFAT_ONNX_INT32) code = check_zero(i, type, list[k]);
    declared->apart |= list[k] != list[0];
  }
  if (code == MAFAT_OK && type == MAFAT_ONNX_INT32 && (list[0] != 0 || declared->apart))
    code =
        mafat_graph_fail(i->g, MAFAT_EFORMAT, "zero point of int32: expected 0, found %g", list[0]);
  declared->type = type;
  declared->zero = code ? 0 : (int)list[0];
  free(list);
  return code;
}

int mafat_onnx_read_quantization(const struct mafat_onnx_importer *i, int scale, int zero, int type,
                                 struct mafat_onnx_declared *declared)
{
  *declared = (struct mafat_onnx_declared){.type = type, .scales = scale};
  int code = read_scales(i, scale, declared);
  if (code == MAFAT_OK) code = read_zeros(i, zero, declared);
  if (code == MAFAT_OK && declared->type == MAFAT_ONNX_UNDEFINED) declared->type = MAFAT_ONNX_UINT8;
  return code;
}

/* ---- maps ---- */

struct mafat_meaning mafat_onnx_meaning(int type, float scale, int zero)
{
  bool is_signed = type == MAFAT_ONNX_INT8;
  struct mafat_meaning m = {
      MAFAT_U8, mafat_quantization(scale, zero + (is_signed ? MAFAT_SIGNED_TO_BYTE : 0))};
  m.numbers.is_signed = is_signed;
  m.numbers.rounding = MAFAT_REQUANTIZE_EVEN;
  return m;
}

int mafat_onnx_declared_meaning(const struct mafat_onnx_importer *i,
                                const struct mafat_onnx_declared *declared,
                                struct mafat_meaning *out)
{
  if (declared->n != 1)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected one scale of a tensor computed at run time, found %lld",
                            declared->n);
  if (declared->type == MAFAT_ONNX_INT32)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected numbers of type int8 or uint8, found int32");
  *out = mafat_onnx_meaning(declared->type, declared->scale, declared->zero);
  return MAFAT_OK;
}

int mafat_onnx_map_type(const struct mafat_onnx_importer *i, const struct mafat_value *map)
{
  struct mafat_meaning m = mafat_value_meaning(i->g, map);
  return m.type == MAFAT_F32   ? MAFAT_ONNX_FLOAT
         : m.numbers.is_signed ? MAFAT_ONNX_INT8
                               : MAFAT_ONNX_UINT8;
}

int mafat_onnx_rename(const struct mafat_onnx_importer *i, struct mafat_value *out,
                      const struct mafat_value *map, struct mafat_meaning to)
{
  struct mafat_meaning is = mafat_value_meaning(i->g, map);
  if (mafat_quantization_equals(&is.numbers, &to.numbers)) return mafat_value_copy(i->g, out, map);
  return mafat_graph_rename_numbers(i->g, out, map, to);
}

/* ---- constants ---- */

int mafat_onnx_quantized_constant(const struct mafat_onnx_importer *i, struct mafat_value *out,
                                  const struct mafat_value *v,
                                  const struct mafat_onnx_declared *declared, int axis)
{
  long long run = 1;
  int code = mafat_value_copy(i->g, out, v);
  if (code) return code;
  for (int k = axis + 1; declared->n > 1 && k > 0 && k < v->view.n_dims && run <= INT32_MAX; k++)
    run *= v->view.dims[k];
  if (run < 1 || run > INT32_MAX)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected at most %d consecutive values with one scale, found %lld",
                            INT32_MAX, run);
  if (declared->n > 1 && (axis < 0 || axis >= v->view.n_dims || v->view.dims[axis] != declared->n))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected %lld scales along dimension %d, found %lld",
                            axis < 0 || axis >= v->view.n_dims ? 0 : v->view.dims[axis], axis,
                            declared->n);
  if (v->form == MAFAT_VALUE_NUMBERS) {
    struct mafat_constant place;
    code = mafat_graph_keep_whole(i->g, &place, v->numbers, (size_t)mafat_value_elements(v),
                                  mafat_onnx_whole_type(declared->type));
    mafat_value_clear(out);
    if (code) return code;
    *out = (struct mafat_value){
        .form = MAFAT_VALUE_PLACE, .view = v->view, .maker = -1, .place = place};
  }
  out->scales = (struct mafat_scales){.dimension = axis,
                                      .scale = declared->scale,
                                      .zero = declared->zero,
                                      .run = (unsigned)run & 0x7fffffff};
  return mafat_graph_place(i->g, &out->scales.list, mafat_onnx_in(i, declared->scales));
}

int mafat_onnx_dequantized(const struct mafat_onnx_importer *i, struct mafat_value *out,
                           const struct mafat_value *v)
{
  enum { MOST = 1 << 24 };
  struct mafat_value real = *v;
  double *numbers;
  real.scales.real = 1;
  int code = mafat_value_numbers(i->g, &real, MOST, &numbers);
  if (code) return code;
  code = mafat_value_make_numbers(i->g, out, v->view.n_dims, v->view.dims);
  if (code == MAFAT_OK)
    memcpy(out->numbers, numbers, (size_t)mafat_value_elements(v) * sizeof *numbers);
  free(numbers);
  return code;
}

int mafat_onnx_plain_floats(struct mafat_onnx_importer *i, struct mafat_value *out,
                            const struct mafat_value *in, int zero)
{
  static const struct mafat_meaning floats = {.type = MAFAT_F32};
  struct mafat_value plain = {.maker = -1};
  if (!mafat_value_is_integer(i->g, in)) return mafat_value_copy(i->g, out, in);
  int code =
      mafat_onnx_rename(i, &plain, in, mafat_onnx_meaning(mafat_onnx_map_type(i, in), 1, zero));
  if (code == MAFAT_OK)
    code = mafat_graph_quantize(i->g, out, &plain, floats, MAFAT_REQUANTIZE_EVEN);
  mafat_value_clear(&plain);
  return code;
}
